#include "spillway/Target/CPU/ObjectCode.h"

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
                                         function_ref<InFlightDiagnostic()> emitError) {
  std::optional<std::string> linker = findLinker();
  if (!linker)
    return emitError() << "ld.lld is neither at " SPILLWAY_LINKER " nor on the path";
  SmallVector<StringRef> command{
      "ld.lld",           "-shared",         "-z", "defs",    "-z", "noexecstack", "-z", "relro",
      "--hash-style=gnu", "--build-id=none", "-o", outputPath};
  llvm::append_range(command, objects);

  SmallString<128> messages;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("spillway-link", "txt", messages))
    return emitError() << "no temporary file: " << error.message();
  llvm::FileRemover remover(messages);
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(messages), StringRef(messages)};
  std::string failureReason;
  int code =
      llvm::sys::ExecuteAndWait(*linker, command, std::nullopt, redirects, 0, 0, &failureReason);
  if (code == 0)
    return success();
  InFlightDiagnostic diagnostic = emitError();
  diagnostic << "ld.lld could not link the kernels: ";
  if (code < 0)
    diagnostic << failureReason;
  else if (auto text = llvm::MemoryBuffer::getFile(messages))
    diagnostic << (*text)->getBuffer().rtrim();
  return diagnostic;
}
