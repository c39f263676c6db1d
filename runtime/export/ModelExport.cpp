#include "runtime/export/ModelExport.h"

#include "runtime/base/File.h"
#include "runtime/base/MappedFile.h"
#include "runtime/base/OutputFile.h"
#include "runtime/export/UntiedName.h"
#include "runtime/io/ExternalData.h"
#include "runtime/io/ProtoWire.h"
#include "runtime/io/WireWriter.h"
#include "runtime/state/StateReader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

namespace spillway {

namespace {

// Fields of onnx.proto.
constexpr uint32_t modelGraph = 7, graphNode = 1, graphInitializer = 5, nodeInput = 1, nodeOutput = 2;
constexpr uint32_t tensorDims = 1, tensorDataType = 2, tensorName = 8, tensorRawData = 9, tensorExternalData = 13,
                   tensorDataLocation = 14;
constexpr uint32_t entryKey = 1, entryValue = 2;
constexpr int64_t externalLocation = 1;
/// The fields that hold a tensor's data: of each type, raw, and where they lie.
constexpr uint32_t dataFields[] = {4, 5, 6, 7, 9, 10, 11, 13, 14};
/// What one message may have.
constexpr uint64_t mostMessageBytes = (uint64_t(1) << 31) - 1;
/// Places in a data file: pages can be mapped.
constexpr uint64_t dataAlignment = 4096;

using Bytes = std::span<const std::byte>;

std::string_view textOf(Bytes bytes) { return {reinterpret_cast<const char *>(bytes.data()), bytes.size()}; }

/// What a file is made of, in order.
using Segment = std::variant<Bytes, std::string, const StateView *, ExternalExtent>;

/// A file that is written beside its place, and removed where it does not get there.
class NewFile {
public:
  static Result<NewFile> create(const std::filesystem::path &path) {
    SPILLWAY_ASSIGN_OR_RETURN(std::filesystem::path place, replaceableFile(path));
    std::filesystem::path partial = place;
    partial += ".partial";
    SPILLWAY_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(partial));
    return NewFile(std::move(place), std::move(partial), std::move(file));
  }
  NewFile(NewFile &&other)
      : place_(std::move(other.place_)), partial_(std::exchange(other.partial_, {})), file_(std::move(other.file_)) {}
  ~NewFile() {
    std::error_code ignored;
    if (!partial_.empty())
      std::filesystem::remove(partial_, ignored);
  }

  Status append(std::string_view bytes) { return file_.append(bytes); }
  Status finish() { return file_.closeDurably(); }
  Status putInPlace() {
    SPILLWAY_RETURN_IF_ERROR(renameDurably(partial_, place_));
    partial_.clear();
    return {};
  }

private:
  NewFile(std::filesystem::path place, std::filesystem::path partial, OutputFile file)
      : place_(std::move(place)), partial_(std::move(partial)), file_(std::move(file)) {}

  std::filesystem::path place_, partial_;
  OutputFile file_;
};

uint64_t bytesOf(const Segment &segment) {
  if (auto *state = std::get_if<const StateView *>(&segment))
    return (*state)->type.logicalBytes();
  if (auto *extent = std::get_if<ExternalExtent>(&segment))
    return extent->bytes;
  if (auto *bytes = std::get_if<Bytes>(&segment))
    return bytes->size();
  return std::get<std::string>(segment).size();
}

/// The fields of a message, some of them new.
struct Message {
  std::vector<Segment> segments;
  uint64_t bytes = 0;

  void add(Segment segment) {
    bytes += bytesOf(segment);
    segments.push_back(std::move(segment));
  }
  void add(uint32_t field, Message message) {
    WireWriter header;
    header.begin(field, message.bytes);
    add(header.bytes());
    for (Segment &segment : message.segments)
      add(std::move(segment));
  }
};

/// One field as it lies in the model.
struct Field {
  WireTag tag;
  /// With its tag.
  Bytes whole;
  /// Of a length-delimited one.
  Bytes content;
  uint64_t number = 0;
};

/// Calls `visit(field)` for each; false where the message is damaged, else the first error.
template <typename Visit> Result<bool> forEachField(Bytes message, Visit visit) {
  WireCursor cursor(message);
  while (!cursor.atEnd()) {
    Bytes start = cursor.rest();
    Field field;
    std::optional<WireTag> tag = cursor.tag();
    if (!tag)
      return false;
    field.tag = *tag;
    if (tag->type == WireType::bytes) {
      std::optional<Bytes> content = cursor.bytes();
      if (!content)
        return false;
      field.content = *content;
    } else if (tag->type == WireType::varint) {
      std::optional<uint64_t> number = cursor.varint();
      if (!number)
        return false;
      field.number = *number;
    } else if (!cursor.skip(tag->type)) {
      return false;
    }
    field.whole = start.first(start.size() - cursor.rest().size());
    SPILLWAY_RETURN_IF_ERROR(visit(field));
  }
  return true;
}

class Export {
public:
  Export(const std::filesystem::path &model, const Store &store, io::Engine &engine,
         const std::filesystem::path &target, const ExportSettings &settings)
      : model_(model), store_(store), target_(target), settings_(settings),
        initialized_(settings.initialized.begin(), settings.initialized.end()), reader_(store, engine) {
    data_ = target;
    data_ += ".data";
  }

  Result<ExportedModel> run() {
    SPILLWAY_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(model_));
    SPILLWAY_ASSIGN_OR_RETURN(Message message, rewriteModel(file.bytes()));
    if (message.bytes > mostMessageBytes) {
      newValuesLieOutside_ = true;
      startAgain();
      SPILLWAY_ASSIGN_OR_RETURN(message, rewriteModel(file.bytes()));
    }
    SPILLWAY_RETURN_IF_ERROR(requireAllFound());
    SPILLWAY_RETURN_IF_ERROR(requirePlaceOfData());
    for (const auto &[name, state] : found_)
      SPILLWAY_RETURN_IF_ERROR(reader_.verify(*state));
    std::optional<NewFile> data;
    if (dataBytes_ != 0) {
      SPILLWAY_ASSIGN_OR_RETURN(NewFile written, writeFile(data_, dataSegments_));
      data.emplace(std::move(written));
    }
    SPILLWAY_ASSIGN_OR_RETURN(NewFile target, writeFile(target_, message.segments));
    if (data)
      SPILLWAY_RETURN_IF_ERROR(data->putInPlace());
    SPILLWAY_RETURN_IF_ERROR(target.putInPlace());
    ExportedModel result;
    result.tensors = found_.size();
    for (const auto &[name, state] : found_)
      result.bytes += state->type.logicalBytes();
    if (dataBytes_ != 0)
      result.data = data_;
    return result;
  }

private:
  Error damaged() const { return userError("'{}' is no ONNX model, or damaged", model_.string()); }

  void startAgain() {
    found_.clear();
    dataSegments_.clear();
    dataBytes_ = 0;
  }

  /// What reading all fields of a message came to: its own error, or that it is cut off.
  Status requireWhole(const Result<bool> &whole) const {
    if (!whole)
      return Error(whole.error());
    if (!*whole)
      return damaged();
    return {};
  }

  /// A message in which fields called `number` are what `rewrite` makes of their content.
  template <typename Rewrite> Result<Message> rewrite(Bytes bytes, uint32_t number, Rewrite rewrite) {
    Message message;
    Result<bool> whole = forEachField(bytes, [&](const Field &field) -> Status {
      if (field.tag.field != number || field.tag.type != WireType::bytes) {
        message.add(field.whole);
        return {};
      }
      SPILLWAY_ASSIGN_OR_RETURN(Message content, rewrite(field.content));
      message.add(number, std::move(content));
      return {};
    });
    SPILLWAY_RETURN_IF_ERROR(requireWhole(whole));
    return message;
  }

  Result<Message> rewriteModel(Bytes model) {
    return rewrite(model, modelGraph, [&](Bytes graph) { return rewriteGraph(graph); });
  }

  Result<Message> rewriteGraph(Bytes graph) {
    // By the name of the initializer that they are copies of.
    std::map<std::string, std::set<std::string>, std::less<>> copies;
    Message message;
    Result<bool> whole = forEachField(graph, [&](const Field &field) -> Status {
      if (field.tag.field != graphNode || field.tag.type != WireType::bytes)
        return {};
      SPILLWAY_ASSIGN_OR_RETURN(std::string output, firstOutput(field.content));
      return forEachInput(field.content, [&](std::string_view input) {
        if (std::string copy = untiedName(input, output); hasNewValues(copy))
          copies[std::string(input)].insert(copy);
      });
    });
    if (whole && *whole)
      whole = forEachField(graph, [&](const Field &field) -> Status {
        bool isNode = field.tag.field == graphNode, isTensor = field.tag.field == graphInitializer;
        if (field.tag.type != WireType::bytes || !(isTensor || (isNode && !copies.empty()))) {
          message.add(field.whole);
          return {};
        }
        SPILLWAY_ASSIGN_OR_RETURN(Message content,
                                  isNode ? rewriteNode(field.content) : rewriteTensor(field.content, std::nullopt));
        message.add(field.tag.field, std::move(content));
        if (!isTensor)
          return {};
        SPILLWAY_ASSIGN_OR_RETURN(std::string name, nameOfTensor(field.content));
        for (const std::string &copy : copies[name]) {
          SPILLWAY_ASSIGN_OR_RETURN(Message tensor, rewriteTensor(field.content, copy));
          message.add(graphInitializer, std::move(tensor));
        }
        return {};
      });
    SPILLWAY_RETURN_IF_ERROR(requireWhole(whole));
    return message;
  }

  /// Whether the store has values for it that are not the model's.
  bool hasNewValues(std::string_view name) const {
    const StateView *state = store_.find(name);
    return state && (state->isRewritten() || initialized_.contains(name));
  }

  /// The text of the first field `number` that has one.
  Result<std::string> firstText(Bytes message, uint32_t number) const {
    std::string text;
    Result<bool> whole = forEachField(message, [&](const Field &field) -> Status {
      if (field.tag.field == number && field.tag.type == WireType::bytes && text.empty())
        text = textOf(field.content);
      return {};
    });
    SPILLWAY_RETURN_IF_ERROR(requireWhole(whole));
    return text;
  }
  Result<std::string> firstOutput(Bytes node) const { return firstText(node, nodeOutput); }
  Result<std::string> nameOfTensor(Bytes tensor) const { return firstText(tensor, tensorName); }

  template <typename Visit> Status forEachInput(Bytes node, Visit visit) const {
    Result<bool> whole = forEachField(node, [&](const Field &field) -> Status {
      if (field.tag.field == nodeInput && field.tag.type == WireType::bytes)
        visit(textOf(field.content));
      return {};
    });
    SPILLWAY_RETURN_IF_ERROR(requireWhole(whole));
    return {};
  }

  /// A node that reads copies of initializers where there are some for it.
  Result<Message> rewriteNode(Bytes node) {
    SPILLWAY_ASSIGN_OR_RETURN(std::string output, firstOutput(node));
    return rewrite(node, nodeInput, [&](Bytes input) -> Result<Message> {
      Message name;
      std::string copy = untiedName(textOf(input), output);
      if (hasNewValues(copy))
        name.add(copy);
      else
        name.add(input);
      return name;
    });
  }

  /// With the new values of its state, or of that of a copy, which it becomes.
  Result<Message> rewriteTensor(Bytes tensor, std::optional<std::string_view> copy) {
    std::string_view name;
    uint64_t elements = 1, type = 0;
    bool isExternal = false;
    ExternalData place;
    Message rest;
    Result<bool> whole = forEachField(tensor, [&](const Field &field) -> Status {
      if (field.tag.field == tensorName)
        name = textOf(field.content);
      else if (field.tag.field == tensorDataType)
        type = field.number;
      else if (field.tag.field == tensorDims)
        SPILLWAY_RETURN_IF_ERROR(multiplyDims(field, elements));
      else if (field.tag.field == tensorDataLocation)
        isExternal = field.number == externalLocation;
      else if (field.tag.field == tensorExternalData)
        SPILLWAY_RETURN_IF_ERROR(readEntry(field.content, place));
      if (copy && field.tag.field == tensorName) {
        WireWriter renamed;
        renamed.text(tensorName, std::string(*copy));
        rest.add(renamed.bytes());
      } else if (std::ranges::find(dataFields, field.tag.field) == std::end(dataFields)) {
        rest.add(field.whole);
      }
      return {};
    });
    SPILLWAY_RETURN_IF_ERROR(requireWhole(whole));
    std::optional<Result<ExternalExtent>> extent;
    if (isExternal)
      extent = resolveExternalData(model_, place, std::nullopt);
    std::error_code code;
    if (extent && extent->ok() && std::filesystem::equivalent((*extent)->path, data_, code))
      return userError("'{}' holds data of '{}' and is not replaced; give the result another name", data_.string(),
                       model_.string());
    name = copy.value_or(name);
    const StateView *state = store_.find(name);
    if (!hasNewValues(name)) {
      if (initialized_.contains(name) && !settings_.modelHasInitialized)
        return userError("'{}' was compiled with the values of another model, which the bundle does not hold under this name: "
                         "give that model, with the same nodes, as --model FILE", name);
      if (isExternal) {
        if (!extent->ok())
          return std::move(*extent).error().in(fmt::format("'{}': '{}'", model_.string(), name));
        addOutside(rest, **extent);
        return rest;
      }
      Message same;
      same.add(tensor);
      return same;
    }
    if (type != static_cast<uint64_t>(state->type.dataType) || elements != state->type.elements())
      return userError("'{}' has {} elements of type {} in '{}', and {} of {} in the bundle: it is not the model that "
                       "was compiled",
                       name, elements, type, model_.string(), state->type.elements(), spillway::name(state->type.dataType));
    found_.emplace(name, state);
    if (isExternal || newValuesLieOutside_) {
      addOutside(rest, state);
      return rest;
    }
    WireWriter header;
    header.begin(tensorRawData, state->type.logicalBytes());
    rest.add(header.bytes());
    rest.add(state);
    return rest;
  }

  Status multiplyDims(const Field &field, uint64_t &elements) const {
    if (field.tag.type == WireType::varint) {
      elements *= field.number;
      return {};
    }
    WireCursor packed(field.content);
    while (!packed.atEnd()) {
      std::optional<uint64_t> dim = packed.varint();
      if (!dim)
        return damaged();
      elements *= *dim;
    }
    return {};
  }

  Status readEntry(Bytes entry, ExternalData &place) const {
    std::string_view key, value;
    Result<bool> whole = forEachField(entry, [&](const Field &field) -> Status {
      (field.tag.field == entryKey ? key : value) = textOf(field.content);
      return {};
    });
    SPILLWAY_RETURN_IF_ERROR(requireWhole(whole));
    if (Status status = place.add(key, value); !status.ok())
      return std::move(status).error().in(fmt::format("'{}'", model_.string()));
    return {};
  }

  /// Puts data into the file beside the model, and its place into the tensor.
  void addOutside(Message &tensor, Segment data) {
    if (uint64_t over = dataBytes_ % dataAlignment; over != 0)
      addData(std::string(dataAlignment - over, '\0'));
    WireWriter fields;
    for (auto [key, value] : {std::pair<std::string, std::string>("location", data_.filename().string()),
                              {"offset", std::to_string(dataBytes_)},
                              {"length", std::to_string(bytesOf(data))}}) {
      WireWriter entry;
      entry.text(entryKey, key);
      entry.text(entryValue, value);
      fields.message(tensorExternalData, entry);
    }
    fields.integer(tensorDataLocation, externalLocation);
    tensor.add(fields.bytes());
    addData(std::move(data));
  }

  void addData(Segment data) {
    dataBytes_ += bytesOf(data);
    dataSegments_.push_back(std::move(data));
  }

  /// Of what steps rewrite, each must be an initializer, or kept beside one.
  Status requireAllFound() const {
    for (const StateView &state : store_.states()) {
      const StateType &type = state.type;
      if (state.isRewritten() && type.role == Role::initializer && !found_.contains(type.name))
        return userError("the main graph of '{}' has no dense initializer '{}': it is not the model that was compiled, or '{}' is sparse or "
                         "of a subgraph, where export does not write: compile the model with --freeze '{}'",
                         model_.string(), type.name, type.name, type.name);
    }
    if (found_.empty())
      return userError("the bundle holds no weights that train: it was compiled without --train");
    return {};
  }

  /// What an export has written there lies beside a model.
  Status requirePlaceOfData() const {
    std::error_code code;
    if (dataBytes_ == 0 || settings_.replacesAny || std::filesystem::exists(target_, code) || !std::filesystem::exists(data_, code))
      return {};
    return userError("'{}' exists, and '{}' does not, so that it may be another model's; give another -o, or --force to "
                     "replace it",
                     data_.string(), target_.string());
  }

  Result<NewFile> writeFile(const std::filesystem::path &path, const std::vector<Segment> &segments) {
    SPILLWAY_ASSIGN_OR_RETURN(NewFile file, NewFile::create(path));
    for (const Segment &segment : segments) {
      if (auto *state = std::get_if<const StateView *>(&segment))
        SPILLWAY_RETURN_IF_ERROR(reader_.readCanonical(**state, [&](Bytes bytes) { return file.append(textOf(bytes)); }));
      else if (auto *extent = std::get_if<ExternalExtent>(&segment))
        SPILLWAY_RETURN_IF_ERROR(copy(*extent, file));
      else if (auto *bytes = std::get_if<Bytes>(&segment))
        SPILLWAY_RETURN_IF_ERROR(file.append(textOf(*bytes)));
      else
        SPILLWAY_RETURN_IF_ERROR(file.append(std::get<std::string>(segment)));
    }
    SPILLWAY_RETURN_IF_ERROR(file.finish());
    return file;
  }

  static Status copy(const ExternalExtent &extent, NewFile &file) {
    SPILLWAY_ASSIGN_OR_RETURN(MappedFile source, MappedFile::open(extent.path));
    return file.append(textOf(source.bytes().subspan(extent.offset, extent.bytes)));
  }

  const std::filesystem::path &model_;
  const Store &store_;
  const std::filesystem::path &target_;
  const ExportSettings &settings_;
  std::set<std::string, std::less<>> initialized_;
  StateReader reader_;
  std::filesystem::path data_;

  bool newValuesLieOutside_ = false;
  std::map<std::string, const StateView *, std::less<>> found_;
  std::vector<Segment> dataSegments_;
  uint64_t dataBytes_ = 0;
};

} // namespace

Result<ExportedModel> exportModel(const std::filesystem::path &model, const Store &store, io::Engine &engine,
                                  const std::filesystem::path &target, const ExportSettings &settings) {
  return Export(model, store, engine, target, settings).run();
}

} // namespace spillway
