#include "runtime/io/Npy.h"
#include "runtime/base/File.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace spillway {

namespace {
constexpr std::string_view magic("\x93NUMPY", 6);
constexpr uint64_t largestHeader = 65536;

struct Entry {
  DataType type;
  std::string_view name;
};
/// NumPy's names without the byte order.
constexpr Entry entries[] = {
    {DataType::f32, "f4"}, {DataType::u8, "u1"},  {DataType::i8, "i1"},  {DataType::u16, "u2"},
    {DataType::i16, "i2"}, {DataType::i32, "i4"}, {DataType::i64, "i8"}, {DataType::boolean, "b1"},
    {DataType::f16, "f2"}, {DataType::f64, "f8"}, {DataType::u32, "u4"}, {DataType::u64, "u8"},
};

/// The subset of Python's literals that headers are written in.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  bool take(char symbol) {
    skipSpace();
    if (rest_.empty() || rest_.front() != symbol)
      return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::optional<std::string_view> string() {
    skipSpace();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"'))
      return std::nullopt;
    size_t end = rest_.find(rest_.front(), 1);
    if (end == rest_.npos)
      return std::nullopt;
    std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::optional<bool> boolean() {
    skipSpace();
    for (bool value : {false, true})
      if (std::string_view word = value ? "True" : "False"; rest_.starts_with(word)) {
        rest_.remove_prefix(word.size());
        return value;
      }
    return std::nullopt;
  }

  std::optional<std::vector<int64_t>> tuple() {
    if (!take('('))
      return std::nullopt;
    std::vector<int64_t> values;
    while (!take(')')) {
      skipSpace();
      int64_t value = 0;
      auto [end, code] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
      if (code != std::errc() || value < 0)
        return std::nullopt;
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      // Python 2 wrote long integers so.
      if (!rest_.empty() && rest_.front() == 'L')
        rest_.remove_prefix(1);
      values.push_back(value);
      if (!take(',')) {
        if (values.size() == 1 || !take(')'))
          return std::nullopt;
        break;
      }
    }
    return values;
  }

  bool atEnd() {
    skipSpace();
    return rest_.empty();
  }

private:
  void skipSpace() {
    while (!rest_.empty() && std::string_view(" \t\n").find(rest_.front()) != rest_.npos)
      rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

struct Dictionary {
  std::optional<std::string_view> type;
  std::optional<bool> fortran;
  std::optional<std::vector<int64_t>> shape;
};

std::optional<Dictionary> parseDictionary(std::string_view text) {
  HeaderParser parser(text);
  Dictionary dictionary;
  if (!parser.take('{'))
    return std::nullopt;
  while (!parser.take('}')) {
    std::optional<std::string_view> key = parser.string();
    if (!key || !parser.take(':'))
      return std::nullopt;
    bool known = false;
    if (*key == "descr")
      known = (dictionary.type = parser.string()).has_value();
    else if (*key == "fortran_order")
      known = (dictionary.fortran = parser.boolean()).has_value();
    else if (*key == "shape")
      known = (dictionary.shape = parser.tuple()).has_value();
    if (!known)
      return std::nullopt;
    if (!parser.take(',')) {
      if (!parser.take('}'))
        return std::nullopt;
      break;
    }
  }
  if (!parser.atEnd() || !dictionary.type || !dictionary.fortran || !dictionary.shape)
    return std::nullopt;
  return dictionary;
}

Result<DataType> typeOf(std::string_view text) {
  std::string_view name = text;
  char order = '|';
  if (!name.empty() && std::string_view("<>|=").find(name.front()) != name.npos) {
    order = name.front();
    name.remove_prefix(1);
  }
  const Entry *entry = std::ranges::find(entries, name, &Entry::name);
  if (entry == std::end(entries))
    return userError("elements of type '{}' are not supported", text);
  if (order == '>' && byteWidth(entry->type) > 1)
    return userError("big-endian elements ('{}') are not supported", text);
  return entry->type;
}

Result<uint64_t> bytesOf(DataType type, std::span<const int64_t> shape) {
  uint64_t bytes = byteWidth(type);
  if (std::ranges::find(shape, 0) != shape.end())
    return uint64_t(0);
  for (int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes) ||
        bytes > INT64_MAX)
      return userError("the shape has too many elements");
  return bytes;
}

/// Any byte but 0 is true.
void normalize(DataType type, std::span<std::byte> elements) {
  if (type == DataType::boolean)
    for (std::byte &element : elements)
      element = std::byte(element != std::byte(0));
}

struct Close {
  void operator()(std::FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

Result<File> openFile(const std::filesystem::path &path, const char *mode) {
  File file(std::fopen(path.c_str(), mode));
  if (!file)
    return openError(errno, fmt::format("cannot open '{}'", path.string()));
  return file;
}
} // namespace

Result<NpyHeader> parseNpyHeader(std::span<const std::byte> bytes) {
  std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  if (!text.starts_with(magic) || text.size() < 10)
    return userError("not a .npy file");
  int version = text[6];
  if (version < 1 || version > 3 || text[7] != 0)
    return userError(".npy version {}.{} is not known", version, static_cast<int>(text[7]));
  uint64_t prefix = version == 1 ? 10 : 12, length = 0;
  if (text.size() < prefix)
    return userError("the header is cut off");
  std::memcpy(&length, text.data() + 8, prefix - 8);
  if (length > largestHeader - prefix)
    return userError("a header of {} bytes", length);
  if (length > text.size() - prefix)
    return userError("the header is cut off");
  std::optional<Dictionary> dictionary = parseDictionary(text.substr(prefix, length));
  if (!dictionary)
    return userError("the header is damaged, or the elements are records");
  NpyHeader header;
  SPILLWAY_ASSIGN_OR_RETURN(header.type, typeOf(*dictionary->type));
  header.shape = std::move(*dictionary->shape);
  if (*dictionary->fortran && header.shape.size() > 1)
    return userError("elements in Fortran order are not supported; save a C-ordered array "
                     "(numpy.ascontiguousarray)");
  header.dataOffset = prefix + length;
  SPILLWAY_ASSIGN_OR_RETURN(header.dataBytes, bytesOf(header.type, header.shape));
  return header;
}

Result<std::vector<std::byte>> encodeNpyHeader(DataType type, std::span<const int64_t> shape,
                                               bool bf16AsBits) {
  if (type == DataType::bf16 && bf16AsBits)
    type = DataType::u16;
  const Entry *entry = std::ranges::find(entries, type, &Entry::type);
  if (entry == std::end(entries))
    return userError("NumPy has no type {}; ask for its bits (u2) or another type",
                     spillway::name(type));
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                 byteWidth(type) == 1 ? '|' : '<', entry->name,
                                 fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  constexpr size_t prefix = 10;
  text.resize((prefix + text.size() + 1 + 63) / 64 * 64 - prefix - 1, ' ');
  text += '\n';
  if (text.size() > UINT16_MAX)
    return userError("a shape of {} dimensions", shape.size());
  std::string head(magic);
  head += {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  head += text;
  auto first = reinterpret_cast<const std::byte *>(head.data());
  return std::vector<std::byte>(first, first + head.size());
}

Result<NpyHeader> readNpyHeader(const std::filesystem::path &path) {
  SPILLWAY_ASSIGN_OR_RETURN(File file, openFile(path, "rb"));
  Result<FileFacts> facts = fileFacts(path);
  if (!facts.ok())
    return userError("{}", facts.error().message);
  std::vector<std::byte> start(std::min(facts->bytes, largestHeader));
  start.resize(std::fread(start.data(), 1, start.size(), file.get()));
  if (std::ferror(file.get()))
    return systemError(errno, fmt::format("cannot read '{}'", path.string()));
  Result<NpyHeader> header = parseNpyHeader(start);
  if (!header.ok())
    return std::move(header).error().in(fmt::format("'{}'", path.string()));
  if (facts->bytes != header->dataOffset + header->dataBytes)
    return userError("'{}' has {} bytes; its shape needs {}", path.string(), facts->bytes,
                     header->dataOffset + header->dataBytes);
  return header;
}

Status readNpyData(const std::filesystem::path &path, const NpyHeader &header,
                   std::span<std::byte> into) {
  if (into.size() != header.dataBytes)
    return bugError("'{}' has {} bytes of elements, {} were asked for", path.string(),
                    header.dataBytes, into.size());
  SPILLWAY_ASSIGN_OR_RETURN(File file, openFile(path, "rb"));
  bool isAtData = std::fseek(file.get(), static_cast<long>(header.dataOffset), SEEK_SET) == 0;
  if (isAtData && std::fread(into.data(), 1, into.size(), file.get()) == into.size()) {
    normalize(header.type, into);
    return {};
  }
  if (!isAtData || std::ferror(file.get()))
    return systemError(errno, fmt::format("cannot read '{}'", path.string()));
  return machineError("'{}' became shorter while it was read", path.string());
}

Result<NpyFile> NpyFile::open(const std::filesystem::path &path) {
  SPILLWAY_ASSIGN_OR_RETURN(NpyHeader header, readNpyHeader(path));
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return openError(errno, fmt::format("cannot open '{}'", path.string()));
  return NpyFile(path, std::move(header), descriptor);
}

NpyFile::NpyFile(std::filesystem::path path, NpyHeader header, int descriptor)
    : path_(std::move(path)), header_(std::move(header)), descriptor_(descriptor) {}

NpyFile::NpyFile(NpyFile &&other) noexcept
    : path_(std::move(other.path_)), header_(std::move(other.header_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

NpyFile &NpyFile::operator=(NpyFile &&other) noexcept {
  std::swap(path_, other.path_);
  std::swap(header_, other.header_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

NpyFile::~NpyFile() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

Status NpyFile::read(uint64_t offset, std::span<std::byte> into) const {
  if (offset > header_.dataBytes || into.size() > header_.dataBytes - offset)
    return bugError("'{}' has {} bytes of elements, {} were asked for at {}", path_.string(),
                    header_.dataBytes, into.size(), offset);
  for (size_t done = 0; done < into.size();) {
    ssize_t count = ::pread(descriptor_, into.data() + done, into.size() - done,
                            static_cast<off_t>(header_.dataOffset + offset + done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return systemError(errno, fmt::format("cannot read '{}'", path_.string()));
    if (count == 0)
      return machineError("'{}' became shorter while it was read", path_.string());
    done += static_cast<size_t>(count);
  }
  normalize(header_.type, into);
  return {};
}

Status writeNpy(const std::filesystem::path &path, DataType type, std::span<const int64_t> shape,
                std::span<const std::byte> bytes, bool bf16AsBits) {
  SPILLWAY_ASSIGN_OR_RETURN(uint64_t expected, bytesOf(type, shape));
  if (bytes.size() != expected)
    return bugError("{} bytes for '{}', whose shape needs {}", bytes.size(), path.string(),
                    expected);
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<std::byte> header,
                            encodeNpyHeader(type, shape, bf16AsBits));
  SPILLWAY_ASSIGN_OR_RETURN(File file, openFile(path, "wb"));
  bool written = std::fwrite(header.data(), 1, header.size(), file.get()) == header.size() &&
                 std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  int code = written ? 0 : errno;
  if (std::fclose(file.release()) != 0 && code == 0)
    code = errno;
  if (code != 0)
    return systemError(code, fmt::format("cannot write '{}'", path.string()));
  return {};
}

} // namespace spillway
