#include "runtime/io/ExternalData.h"

#include <algorithm>
#include <charconv>

namespace spillway {

namespace {

/// The file in the model's folder as its path is given, or where the path leads to.
std::filesystem::path findBeside(const std::filesystem::path &model,
                                 const std::filesystem::path &relative) {
  std::filesystem::path beside = model.parent_path() / relative;
  std::error_code code;
  if (std::filesystem::exists(beside, code))
    return beside;
  std::filesystem::path besideTarget =
      std::filesystem::canonical(model, code).parent_path() / relative;
  return std::filesystem::exists(besideTarget, code) ? besideTarget : beside;
}

} // namespace

Status ExternalData::add(std::string_view key, std::string_view value) {
  if (key == "location")
    location = value;
  uint64_t *number = key == "offset" ? &offset : key == "length" ? &length.emplace() : nullptr;
  if (!number)
    return {};
  auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), *number);
  if (code != std::errc() || end != value.data() + value.size())
    return userError("external data with {} '{}'", key, value);
  return {};
}

Result<ExternalExtent> resolveExternalData(const std::filesystem::path &model, const ExternalData &data,
                                           std::optional<uint64_t> bytes) {
  if (data.location.empty() || data.location.find('\0') != std::string::npos)
    return userError("external data without a usable location");
  std::filesystem::path relative(data.location);
  if (relative.is_absolute() || std::ranges::find(relative, "..") != relative.end())
    return userError("external data at '{}', which leaves the model's folder", data.location);

  std::filesystem::path path = findBeside(model, relative);
  std::error_code code;
  std::filesystem::file_status status = std::filesystem::status(path, code);
  if (code)
    return userError("external data at '{}': {}", data.location, code.message());
  if (!std::filesystem::is_regular_file(status))
    return userError("external data at '{}', which is no regular file", data.location);
  uint64_t size = std::filesystem::file_size(path, code);
  if (code)
    return userError("external data at '{}': {}", data.location, code.message());
  if (bytes && data.length && *data.length != *bytes)
    return userError("external data of {} bytes, the type takes {}", *data.length, *bytes);
  uint64_t rest = size - std::min(size, data.offset);
  uint64_t wanted = bytes ? *bytes : data.length.value_or(rest);
  if (data.offset > size || wanted > rest)
    return userError("external data at '{}', bytes {} to {}, but the file has {}", data.location,
                     data.offset, data.offset + wanted, size);
  return ExternalExtent{std::move(path), data.offset, wanted};
}

} // namespace spillway
