#include "Groups.h"

#include "spillway/Transforms/Passes.h"

#include "mlir/IR/Matchers.h"

namespace spillway {
#define GEN_PASS_DEF_NNADDROWSPASS
#include "spillway/Transforms/Passes.h.inc"
} // namespace spillway

using namespace mlir;
using namespace spillway;

namespace {

/// What the product reads waits for the scatter, instead of what it gives. More than this many times the bytes are
/// not worth it.
constexpr int64_t mostOfProduct = 2;

int64_t bytesOf(Value value) { return nn::tensorBytes(cast<RankedTensorType>(value.getType())); }

/// More rows than the table has repay what is stored: a scatter divides its work by columns.
bool hasFewRows(nn::ScatterOp scatter) { return bytesOf(scatter.getUpdates()) <= bytesOf(scatter.getData()); }

/// Whether what is scattered into costs no memory, or not much more, where it is computed with the update: zeros, or a
/// product that nothing else reads.
bool isWorthJoining(Value data) {
  if (matchPattern(data, m_AnyZeroFloat()))
    return true;
  auto product = data.getDefiningOp<nn::MatmulOp>();
  return product && product->hasOneUse() &&
         bytesOf(product.getLhs()) + bytesOf(product.getRhs()) <= mostOfProduct * bytesOf(data);
}

class Rewrite {
public:
  explicit Rewrite(nn::ScatterOp scatter)
      : scatter(scatter), b(scatter.getLoc(), scatter), type(scatter.getData().getType()),
        count(scatter.getIndices().getType().getNumElements()) {}

  void run() {
    Value rows = nonNegative(vectorOf(scatter.getIndices()));
    Value order = nn::ArgsortOp::create(b, indices(), rows, /*dim=*/0, /*descending=*/false);
    Value sorted = nn::GatherOp::create(b, indices(), rows, order, /*dim=*/0);
    SmallVector<int64_t> shape(type.getShape());
    shape.front() = count;
    Value updates = nn::ReshapeOp::create(b, type.clone(shape), scatter.getUpdates());
    scatter.replaceAllUsesWith(nn::AddRowsOp::create(b, type, scatter.getData(), sorted, order, updates).getResult());
    scatter.erase();
  }

private:
  RankedTensorType indices() { return RankedTensorType::get({count}, b.getI64Type()); }

  Value vectorOf(Value tuples) {
    auto from = cast<RankedTensorType>(tuples.getType());
    Value vector = nn::ReshapeOp::create(b, from.clone({count}), tuples);
    return from.getElementType().isInteger(64) ? vector : arith::ExtSIOp::create(b, indices(), vector).getResult();
  }

  /// Negative indices count from the end.
  Value nonNegative(Value rows) {
    auto constant = [&](int64_t value) {
      return arith::ConstantOp::create(b, DenseElementsAttr::get(indices(), b.getI64IntegerAttr(value).getValue()));
    };
    Value isNegative = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, rows, constant(0));
    Value fromEnd = arith::AddIOp::create(b, rows, constant(type.getDimSize(0)));
    return arith::SelectOp::create(b, isNegative, fromEnd, rows);
  }

  nn::ScatterOp scatter;
  ImplicitLocOpBuilder b;
  RankedTensorType type;
  int64_t count;
};

struct AddRows : public spillway::impl::NNAddRowsPassBase<AddRows> {
  void runOnOperation() override {
    SmallVector<nn::ScatterOp> scatters;
    getOperation().walk([&](nn::ScatterOp scatter) {
      auto indices = scatter.getIndices().getType();
      if (scatter.getKind() == nn::ScatterKind::add && indices.getShape().back() == 1 && indices.getNumElements() != 0 &&
          hasFewRows(scatter) && isWorthJoining(scatter.getData()) && soleUpdateOf(scatter.getResult()))
        scatters.push_back(scatter);
    });
    for (nn::ScatterOp scatter : scatters)
      Rewrite(scatter).run();
    numScatters += scatters.size();
  }
};

} // namespace
