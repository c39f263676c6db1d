// Translates between MLIR and other formats: ONNX files to the onnx dialect, an rt.program to the
// step table of a bundle. Not on top of mlirTranslateMain, which copies its input to memory: a model
// may be larger than that.

#include "spillway/Conversion/RtToTable/RtToTable.h"
#include "spillway/Import/Import.h"
#include "spillway/Pipelines/Registration.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
namespace cl = llvm::cl;

namespace {
enum class Translation { onnxToMlir, rtToTable };
}

static cl::opt<std::string> input(cl::Positional, cl::Required, cl::desc("<input file>"));
static cl::opt<std::string> output("o", cl::init("-"), cl::desc("Where the result is written"),
                                   cl::value_desc("file"));
static cl::opt<Translation> translation(
    cl::Required, cl::desc("Translation:"),
    cl::values(clEnumValN(Translation::onnxToMlir, "import-onnx",
                          "Read an ONNX file, without the bytes of its weights"),
               clEnumValN(Translation::rtToTable, "rt-to-table",
                          "Encode the rt.program of an MLIR file as a bundle's table.bin")));
static cl::list<std::string> binds("bind", cl::desc("An input that becomes a constant"),
                                   cl::value_desc("NAME=VALUE|FILE.npy|FILE.pb"));
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

static LogicalResult translateOnnx(MLIRContext &context, llvm::raw_ostream &stream) {
  OwningOpRef<ModuleOp> module = spillway::importOnnx(
      input, context, {.binds = {binds.begin(), binds.end()}, .keepInputs = {keepInputs.begin(), keepInputs.end()}});
  if (!module)
    return failure();
  module->print(stream);
  stream << "\n";
  return success();
}

static LogicalResult translateRt(MLIRContext &context, llvm::raw_ostream &stream) {
  auto module = parseSourceFile<ModuleOp>(input, &context);
  if (!module)
    return failure();
  FailureOr<std::vector<uint8_t>> table = spillway::translateToTable(*module);
  if (failed(table))
    return failure();
  stream.write(reinterpret_cast<const char *>(table->data()), table->size());
  return success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  registerAsmPrinterCLOptions();
  cl::ParseCommandLineOptions(argc, argv, "Spillway translation driver\n");

  DialectRegistry registry;
  spillway::registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(&context, printDiagnostic);
  std::string error;
  std::unique_ptr<llvm::ToolOutputFile> file = openOutputFile(output, &error);
  if (!file) {
    llvm::errs() << "error: " << error << "\n";
    return 1;
  }
  auto translate = translation == Translation::onnxToMlir ? translateOnnx : translateRt;
  if (failed(translate(context, file->os())))
    return 1;
  file->keep();
  return 0;
}
