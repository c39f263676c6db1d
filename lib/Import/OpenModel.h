// A model's file, mapped and read as messages.
#pragma once

#include "lib/Import/Tensors.h"

#include "llvm/Support/MemoryBuffer.h"

namespace spillway::onnx {

struct OpenModel {
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  /// Views into the buffer, as the message.
  SourceFile file;
  ModelMessage message;

  /// Diagnoses, at `location`, a file that cannot be opened or is no model.
  static mlir::FailureOr<OpenModel> open(llvm::StringRef path, mlir::Location location);
};

} // namespace spillway::onnx
