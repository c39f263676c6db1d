// Runs passes over MLIR files: mlir-opt with Spillway's dialects and passes.

#include "spillway/Pipelines/Registration.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  spillway::registerDialects(registry);
  spillway::registerPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Spillway optimizer driver\n", registry));
}
