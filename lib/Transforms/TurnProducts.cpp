#include "Groups.h"

#include "spillway/Transforms/Passes.h"

namespace spillway {
#define GEN_PASS_DEF_NNTURNPRODUCTSPASS
#include "spillway/Transforms/Passes.h.inc"
} // namespace spillway

using namespace mlir;
using namespace spillway;

namespace {

/// The dimension along which the states of an update are stored in panels.
std::optional<int64_t> panelDim(zero::UpdateOp update, const SymbolTable &symbols) {
  for (auto name : update.getStates().getAsRange<FlatSymbolRefAttr>())
    if (auto layout = symbols.lookup<zero::StateOp>(name.getAttr()).getLayoutAttr())
      return layout.getDim();
  return std::nullopt;
}

struct TurnProducts : public spillway::impl::NNTurnProductsPassBase<TurnProducts> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<nn::MatmulOp> products;
    getOperation().walk([&](nn::MatmulOp matmul) {
      if (matmul.getLhs().getType().getRank() != 2 || matmul.getRhs().getType().getRank() != 2)
        return;
      zero::UpdateOp update = soleUpdateOf(matmul.getResult());
      if (update && panelDim(update, symbols) == 0)
        products.push_back(matmul);
    });
    for (nn::MatmulOp product : products)
      turn(product);
    numProducts += products.size();
  }

  /// (a b)^T = b^T a^T.
  static void turn(nn::MatmulOp product) {
    ImplicitLocOpBuilder b(product.getLoc(), product);
    RankedTensorType type = product.getType();
    Value turned = nn::MatmulOp::create(b, type.clone({type.getDimSize(1), type.getDimSize(0)}), product.getRhs(), product.getLhs(),
                                        !product.getTransposeRhs(), !product.getTransposeLhs());
    Value result = nn::TransposeOp::create(b, type, turned, ArrayRef<int64_t>{1, 0});
    product.replaceAllUsesWith(result);
    product.erase();
  }
};

} // namespace
