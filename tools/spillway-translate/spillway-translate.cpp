// Translates between MLIR and other formats: ONNX files to the onnx dialect.

#include "spillway/Import/Import.h"
#include "spillway/Pipelines/Registration.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/SourceMgr.h"

int main(int argc, char **argv) {
  mlir::TranslateToMLIRRegistration importOnnx(
      "import-onnx", "reads an ONNX file (without the bytes of its weights)",
      [](llvm::SourceMgr &sources, mlir::MLIRContext *context) -> mlir::OwningOpRef<mlir::Operation *> {
        // By name: external data lies beside the file.
        llvm::StringRef path =
            sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier();
        mlir::OwningOpRef<mlir::ModuleOp> module = spillway::importOnnx(path, *context);
        return module ? module.release().getOperation() : nullptr;
      },
      spillway::registerDialects);
  return mlir::failed(mlir::mlirTranslateMain(argc, argv, "Spillway translation driver\n"));
}
