// Translates between MLIR and other formats: ONNX files to the onnx dialect. Not on top of
// mlirTranslateMain, which copies its input to memory: a model may be larger than that.

#include "spillway/Import/Import.h"
#include "spillway/Pipelines/Registration.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
namespace cl = llvm::cl;

static cl::opt<std::string> input(cl::Positional, cl::Required, cl::desc("<model.onnx>"));
static cl::opt<std::string> output("o", cl::init("-"), cl::desc("Where the module is written"),
                                   cl::value_desc("file"));
static cl::opt<bool> importOnnx("import-onnx", cl::Required,
                                cl::desc("Read an ONNX file, without the bytes of its weights"));
static cl::list<std::string> binds("bind", cl::desc("An input that becomes a constant"),
                                   cl::value_desc("NAME=VALUE"));
static cl::list<std::string> keepInputs("keep-input",
                                        cl::desc("An input that stays one though it has a default"),
                                        cl::value_desc("NAME"));

/// `error: initializer 'w': has no data`.
static void printDiagnostic(Diagnostic &diagnostic) {
  static constexpr const char *severities[] = {"note", "warning", "error", "remark"};
  llvm::errs() << severities[static_cast<int>(diagnostic.getSeverity())] << ": ";
  if (auto name = dyn_cast<NameLoc>(diagnostic.getLocation()))
    llvm::errs() << name.getName().getValue();
  else
    llvm::errs() << diagnostic.getLocation();
  llvm::errs() << ": " << diagnostic << "\n";
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  registerAsmPrinterCLOptions();
  cl::ParseCommandLineOptions(argc, argv, "Spillway translation driver\n");

  DialectRegistry registry;
  spillway::registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(&context, printDiagnostic);
  OwningOpRef<ModuleOp> module = spillway::importOnnx(
      input, context, {{binds.begin(), binds.end()}, {keepInputs.begin(), keepInputs.end()}});
  if (!module)
    return 1;

  std::string error;
  std::unique_ptr<llvm::ToolOutputFile> file = openOutputFile(output, &error);
  if (!file) {
    llvm::errs() << "error: " << error << "\n";
    return 1;
  }
  module->print(file->os());
  file->os() << "\n";
  file->keep();
  return 0;
}
