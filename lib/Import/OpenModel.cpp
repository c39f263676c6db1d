#include "lib/Import/OpenModel.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::onnx;

FailureOr<OpenModel> OpenModel::open(StringRef path, Location location) {
  if (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path))
    return emitError(location) << "is no regular file";
  // Mapped, whatever its size: only the pages that are read count.
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return emitError(location) << "cannot open the model: " << buffer.getError().message();
  StringRef text = (*buffer)->getBuffer();
  SourceFile file{path.str(), {reinterpret_cast<const std::byte *>(text.data()), text.size()}};
  std::string error;
  FailureOr<ModelMessage> message = readModel(file.bytes, error);
  if (failed(message))
    return emitError(location) << "is no valid ONNX model: " << error;
  return OpenModel{std::move(*buffer), std::move(file), std::move(*message)};
}
