#include "spillway/Conversion/OnnxToNN/Passes.h"

#include "dialects/Onnx/Onnx.h"
#include "spillway/Support/NamePatterns.h"

#include "llvm/ADT/SetVector.h"

namespace spillway {
#define GEN_PASS_DEF_ONNXREPORTSHAREDPASS
#include "spillway/Conversion/OnnxToNN/Passes.h.inc"
} // namespace spillway

using namespace mlir;
using namespace spillway;

namespace {

bool looksUpRows(onnx::NodeOp node) { return node.getOpType() == "Gather"; }

/// A tied embedding: rows of it are looked up, and it is the factor of a product, perhaps transposed.
bool isTie(ArrayRef<onnx::NodeOp> readers) {
  return llvm::any_of(readers, looksUpRows) && llvm::all_of(readers, [](onnx::NodeOp node) {
           return looksUpRows(node) || llvm::is_contained({"MatMul", "Gemm", "Transpose"}, node.getOpType());
         });
}

/// The nodes that read values of an initializer.
SmallVector<onnx::NodeOp> readersOf(onnx::UseOp use) {
  llvm::SetVector<Operation *> users(use->user_begin(), use->user_end());
  SmallVector<onnx::NodeOp> readers;
  for (Operation *user : users)
    if (auto node = dyn_cast<onnx::NodeOp>(user); node && !llvm::is_contained({"Shape", "Size"}, node.getOpType()))
      readers.push_back(node);
  return readers;
}

class OnnxReportSharedPass : public spillway::impl::OnnxReportSharedPassBase<OnnxReportSharedPass> {
public:
  using OnnxReportSharedPassBase::OnnxReportSharedPassBase;

  void runOnOperation() override {
    Location location = getOperation().getLoc();
    FailureOr<NamePatterns> frozen =
        NamePatterns::parse(location, "freeze", SmallVector<std::string>(freeze.begin(), freeze.end()));
    if (failed(frozen))
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    std::string shared;
    getOperation().walk<WalkOrder::PreOrder>([&](onnx::UseOp use) {
      auto initializer = symbols.lookup<onnx::InitializerOp>(use.getInitializer());
      SmallVector<onnx::NodeOp> readers = readersOf(use);
      auto type = cast<RankedTensorType>(initializer.getType());
      if (readers.size() < 2 || isTie(readers) || initializer.getConstant() || type.getRank() == 0 ||
          !isa<FloatType>(type.getElementType()) || frozen->match(initializer.getName()))
        return;
      shared += (shared.empty() ? "'" : ", '") + initializer.getName().str() + "' (" + std::to_string(readers.size()) +
                " nodes, the first of them " + readers.back().getOpType().str() + ")";
    });
    if (!shared.empty())
      emitWarning(location) << "weights that several nodes read train as one: " << shared
                            << ". Exporters merge equal values of fresh models; --untie gives each node its own";
  }
};

} // namespace
