#include "lib/Import/ExternalData.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::onnx;

namespace {

/// Whether `path`, with all links followed, is below `folder`, with all links followed.
bool isInside(const std::filesystem::path &path, const std::filesystem::path &folder) {
  std::filesystem::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

} // namespace

FailureOr<ExternalExtent> spillway::onnx::resolveExternalData(const TensorMessage &tensor,
                                                              const SourceFile &file,
                                                              uint64_t bytes, Location location) {
  StringRef name;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (auto [key, value] : tensor.externalData) {
    if (key == "location")
      name = value;
    else if (key == "offset" && value.getAsInteger(10, offset))
      return emitError(location) << "external data with offset '" << value << "'";
    else if (key == "length" && value.getAsInteger(10, length.emplace()))
      return emitError(location) << "external data with length '" << value << "'";
  }
  if (name.empty() || name.contains('\0'))
    return emitError(location) << "external data without a usable location";
  std::filesystem::path relative(name.str());
  if (relative.is_absolute() || llvm::is_contained(relative, ".."))
    return emitError(location) << "external data at '" << name
                               << "', which leaves the model's folder";

  std::error_code code;
  std::filesystem::path folder = file.path.parent_path();
  std::filesystem::path path = folder / relative;
  std::filesystem::path realFolder =
      std::filesystem::canonical(folder.empty() ? "." : folder, code);
  std::filesystem::path realPath = std::filesystem::canonical(path, code);
  if (code)
    return emitError(location) << "external data at '" << name << "': " << code.message();
  if (!isInside(realPath, realFolder))
    return emitError(location) << "external data at '" << name
                               << "', a link that leaves the model's folder";
  if (!std::filesystem::is_regular_file(realPath, code))
    return emitError(location) << "external data at '" << name << "', which is no regular file";
  uint64_t size = std::filesystem::file_size(realPath, code);
  if (length && *length != bytes)
    return emitError(location) << "external data of " << *length << " bytes, the type takes "
                               << bytes;
  if (code || offset > size || bytes > size - offset)
    return emitError(location) << "external data at '" << name << "', bytes " << offset << " to "
                               << offset + bytes << ", but the file has " << size;
  return ExternalExtent{path.string(), offset};
}
