// A pass over the model as it was imported: every Relu becomes a Clip to [0, max].

#include "Plugin.h"

#include "dialects/Onnx/Onnx.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace spillway;

namespace {

/// The version of Clip whose bounds are operands and may be integers.
constexpr int64_t clipVersion = 13;

struct CapRelu : PassWrapper<CapRelu, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CapRelu)

  CapRelu() = default;
  CapRelu(const CapRelu &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "example-cap-relu"; }
  StringRef getDescription() const override { return "Replaces Relu by Clip to [0, max]"; }

  void runOnOperation() override {
    SmallVector<onnx::NodeOp> relus;
    getOperation().walk([&](onnx::NodeOp node) {
      if (node.getDomain().empty() && node.getOpType() == "Relu")
        relus.push_back(node);
    });
    if (relus.empty())
      return;
    onnx::InitializerOp low = addBound("relu_low", 0), high = addBound("relu_high", max);
    for (onnx::NodeOp relu : relus)
      replace(relu, low, high);
  }

private:
  onnx::InitializerOp addBound(StringRef name, double value) {
    auto type = RankedTensorType::get({}, Float32Type::get(&getContext()));
    OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
    auto bound = onnx::InitializerOp::create(
        builder, getOperation().getLoc(), name, builder.getStringAttr(name), type,
        DenseElementsAttr::get(type, static_cast<float>(value)));
    SymbolTable(getOperation()).insert(bound);
    return bound;
  }

  static void replace(onnx::NodeOp relu, onnx::InitializerOp low, onnx::InitializerOp high) {
    OpBuilder builder(relu);
    SmallVector<Value> operands(relu.getInputs());
    for (onnx::InitializerOp bound : {low, high})
      operands.push_back(onnx::UseOp::create(builder, relu.getLoc(),
                                             cast<RankedTensorType>(bound.getType()),
                                             bound.getSymName()));
    auto clip = onnx::NodeOp::create(
        builder, relu.getLoc(), relu->getResultTypes(), builder.getStringAttr("Clip"), operands,
        relu.getDomainAttr(),
        builder.getI64IntegerAttr(std::max<int64_t>(relu.getVersion(), clipVersion)),
        builder.getDictionaryAttr({}), builder.getArrayAttr({}), /*bodiesCount=*/0);
    relu->replaceAllUsesWith(clip);
    relu.erase();
  }

  Option<double> max{*this, "max", llvm::cl::desc("Largest value that is kept"), llvm::cl::init(6)};
};

} // namespace

void registerCapReluPass() { PassRegistration<CapRelu>(); }
