// The language server of MLIR with Spillway's dialects: diagnostics, definitions and hovers in an
// editor that opens .mlir files.

#include "spillway/Pipelines/Registration.h"

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  spillway::registerDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
