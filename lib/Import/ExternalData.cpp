#include "lib/Import/ExternalData.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::onnx;

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

  std::filesystem::path path = findBeside(file.path, relative);
  std::error_code code;
  std::filesystem::file_status status = std::filesystem::status(path, code);
  if (code)
    return emitError(location) << "external data at '" << name << "': " << code.message();
  if (!std::filesystem::is_regular_file(status))
    return emitError(location) << "external data at '" << name << "', which is no regular file";
  uint64_t size = std::filesystem::file_size(path, code);
  if (length && *length != bytes)
    return emitError(location) << "external data of " << *length << " bytes, the type takes "
                               << bytes;
  if (code || offset > size || bytes > size - offset)
    return emitError(location) << "external data at '" << name << "', bytes " << offset << " to "
                               << offset + bytes << ", but the file has " << size;
  return ExternalExtent{path.string(), offset};
}
