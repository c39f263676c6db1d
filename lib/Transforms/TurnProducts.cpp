#include "Groups.h"

#include "spillway/Transforms/Passes.h"

namespace spillway {
#define GEN_PASS_DEF_NNTURNPRODUCTSPASS
#include "spillway/Transforms/Passes.h.inc"
} // namespace spillway

using namespace mlir;
using namespace spillway;

namespace {

/// Whether all states of an update are stored in panels along dimension 0.
bool updatesPanelsOfRows(zero::UpdateOp update, const SymbolTable &symbols) {
  return llvm::all_of(update.getStates().getAsRange<FlatSymbolRefAttr>(), [&](FlatSymbolRefAttr name) {
    nn::PanelsAttr layout = symbols.lookup<zero::StateOp>(name.getAttr()).getLayoutAttr();
    return layout && layout.getDim() == 0;
  });
}

struct TurnProducts : public spillway::impl::NNTurnProductsPassBase<TurnProducts> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<nn::MatmulOp> products;
    getOperation().walk([&](nn::MatmulOp matmul) {
      // A weight is read by tiles as a right operand alone.
      Operation *right = matmul.getRhs().getDefiningOp();
      if (matmul.getLhs().getType().getRank() != 2 || matmul.getRhs().getType().getRank() != 2 ||
          (right && (isa<zero::UseOp>(right) || isUnpackedWeight(right))))
        return;
      zero::UpdateOp update = soleUpdateOf(matmul.getResult());
      if (update && updatesPanelsOfRows(update, symbols))
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
