// ONNX files: the import, and where it succeeds the conversion to nn with every open dimension 2.

#include "test/Fuzz/Fuzz.h"

#include "dialects/Onnx/Onnx.h"
#include "spillway/Conversion/OnnxToNN/Passes.h"
#include "spillway/Import/Import.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace spillway;

static void convert(ModuleOp module) {
  ConvertOnnxToNNPassOptions options;
  llvm::DenseSet<llvm::StringRef> names;
  for (auto graph : module.getOps<onnx::GraphOp>())
    for (Attribute dims : graph.getDims())
      for (auto name : cast<ArrayAttr>(dims).getAsValueRange<StringAttr>())
        if (!name.empty() && names.insert(name).second)
          options.dims.push_back(name.str() + "=2");
  PassManager passes(module.getContext());
  passes.addPass(createConvertOnnxToNNPass(options));
  if (succeeded(passes.run(module)) && failed(verify(module)))
    std::abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::Folder folder;
  std::filesystem::path file = folder.write("model.onnx", {data, size});
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<onnx::OnnxDialect>();
  context.getDiagEngine().registerHandler([](Diagnostic &) { return success(); });
  if (OwningOpRef<ModuleOp> module = importOnnx(file.string(), context))
    convert(*module);
  return 0;
}
