// Makes an MLIR file smaller while a script still finds it interesting: mlir-reduce with Spillway's
// dialects and passes.

#include "spillway/Pipelines/Registration.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  spillway::registerDialects(registry);
  spillway::registerPasses();
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}
