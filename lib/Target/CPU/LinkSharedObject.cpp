#include "spillway/Target/CPU/ObjectCode.h"

#include "spillway/Support/Errors.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace spillway;

/// The linker: the one that was there at build time, or the one on the path.
static std::optional<std::string> findLinker() {
  if (llvm::sys::fs::can_execute(SPILLWAY_LINKER))
    return SPILLWAY_LINKER;
  if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName("ld.lld"))
    return *found;
  return std::nullopt;
}

LogicalResult spillway::linkSharedObject(ArrayRef<std::string> objects, StringRef outputPath,
                                         Location location) {
  std::optional<std::string> linker = findLinker();
  if (!linker)
    return spillway::emitError(
        location, machineError("ld.lld is neither at " SPILLWAY_LINKER " nor on the path"));
  SmallVector<StringRef> command{
      "ld.lld",           "-shared",         "-z", "defs",    "-z", "noexecstack", "-z", "relro",
      "--hash-style=gnu", "--build-id=none", "-o", outputPath};
  llvm::append_range(command, objects);

  SmallString<128> messages;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("spillway-link", "txt", messages))
    return emitMachineError(location, "create a temporary file", error);
  llvm::FileRemover remover(messages);
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(messages), StringRef(messages)};
  std::string failureReason;
  int code =
      llvm::sys::ExecuteAndWait(*linker, command, std::nullopt, redirects, 0, 0, &failureReason);
  if (code == 0)
    return success();
  if (auto text = llvm::MemoryBuffer::getFile(messages); text && code > 0)
    failureReason = (*text)->getBuffer().rtrim().str();
  Error error = machineError("ld.lld could not link the kernels: {}", failureReason);
  if (failureReason.find("undefined symbol") != std::string::npos)
    error.kind = ErrorKind::bug;
  return spillway::emitError(location, error);
}
