// Runs passes over MLIR files: mlir-opt with Spillway's dialects and passes.
// `--list-operators` prints the ONNX operators that convert (docs/operators.md).

#include "spillway/Conversion/OnnxToNN/Passes.h"
#include "spillway/Pipelines/Registration.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  if (argc == 2 && llvm::StringRef(argv[1]) == "--list-operators") {
    spillway::printOperators(llvm::outs());
    return 0;
  }
  mlir::DialectRegistry registry;
  spillway::registerDialects(registry);
  spillway::registerPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Spillway optimizer driver\n", registry));
}
