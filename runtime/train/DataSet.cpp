#include "runtime/train/DataSet.h"
#include "runtime/base/LoadIndex.h"

#include <algorithm>
#include <ranges>

namespace spillway {

namespace {
Status requireFit(const Binding &input, const NpyHeader &header,
                  const std::filesystem::path &path) {
  // NumPy has no bf16: its bits come as u16.
  bool isBits = input.dataType == DataType::bf16 && header.type == DataType::u16;
  bool fits = (header.type == input.dataType || isBits) && !header.shape.empty() &&
              std::ranges::equal(header.shape | std::views::drop(1),
                                 input.shape | std::views::drop(1));
  if (fits)
    return {};
  return userError("input '{}' takes batches {}; '{}' holds {}, which are no samples of it",
                   input.name, describe(input.dataType, input.shape), path.string(),
                   describe(header.type, header.shape));
}
} // namespace

Result<DataSet> DataSet::open(std::span<const Binding> inputs,
                              const std::map<std::string, std::filesystem::path> &files, std::string_view option) {
  DataSet data;
  std::vector<std::string> missing;
  for (const Binding &input : inputs) {
    if (input.shape.empty())
      return userError("input '{}' is one number: it has no dimension of samples", input.name);
    auto found = files.find(input.name);
    if (found == files.end()) {
      missing.push_back(fmt::format("{} {}", input.name, describe(input.dataType, input.shape)));
      continue;
    }
    const std::filesystem::path &path = found->second;
    Result<NpyFile> file = NpyFile::open(path);
    if (!file.ok())
      return std::move(file).error().in(fmt::format("input '{}'", input.name));
    SPILLWAY_RETURN_IF_ERROR(requireFit(input, file->header(), path));
    auto samples = static_cast<uint64_t>(file->header().shape[0]);
    auto batch = static_cast<uint64_t>(input.shape[0]);
    if (batch == 0)
      return userError("input '{}' takes batches of no samples, {}: compile the model for others", input.name,
                       describe(input.dataType, input.shape));
    if (!data.columns_.empty()) {
      const Binding &first = data.columns_[0].input;
      if (batch != data.batch_)
        return userError("input '{}' takes {} samples a step, '{}' takes {}", first.name,
                         data.batch_, input.name, batch);
      if (samples != data.samples_)
        return userError("the data of input '{}' are {} samples, those of '{}' are {}", first.name,
                         data.samples_, input.name, samples);
    }
    data.samples_ = samples;
    data.batch_ = batch;
    data.columns_.push_back({input, *std::move(file), input.slice.bytes / batch});
  }
  if (!missing.empty())
    return userError("missing data: {} (give each as --{} NAME=FILE.npy)", fmt::join(missing, ", "), option);
  if (data.columns_.empty())
    return userError("the model has no input that takes samples");
  if (data.samples_ == 0)
    return userError("the data of input '{}' are no samples at all", data.columns_[0].input.name);
  return data;
}

Status DataSet::Column::requireClasses(uint64_t number, std::span<const std::byte> sample) const {
  if (!input.classes)
    return {};
  const auto &[count, ignored, first] = *input.classes;
  uint64_t width = byteWidth(input.dataType), elements = sample.size() / width, behind = 1;
  for (size_t d = 2; d < input.shape.size(); ++d)
    behind *= static_cast<uint64_t>(input.shape[d]);
  for (uint64_t i = static_cast<uint64_t>(first) * behind; i < elements; ++i) {
    int64_t label = loadIndex(input.dataType, sample.data() + i * width);
    if ((label < 0 || label >= count) && label != ignored)
      return userError("sample {} holds {} at element {}; its labels are from 0 to {}{}", number, label, i, count - 1,
                       ignored < 0 || ignored >= count ? fmt::format(", or {}", ignored) : "");
  }
  return {};
}

Status DataSet::load(std::span<const uint64_t> batch,
                     const std::function<std::span<std::byte>(const Binding &)> &memoryOf) const {
  for (const Column &column : columns_) {
    std::span<std::byte> memory = memoryOf(column.input);
    for (size_t place = 0; place < batch.size(); ++place) {
      std::span<std::byte> sample = memory.subspan(place * column.sampleBytes, column.sampleBytes);
      Status status = column.file.read(batch[place] * column.sampleBytes, sample);
      if (status.ok())
        status = column.requireClasses(batch[place], sample);
      if (!status.ok())
        return std::move(status).error().in(fmt::format("input '{}'", column.input.name));
    }
  }
  return {};
}

} // namespace spillway
