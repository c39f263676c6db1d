// Elements of nn.add_rows: what sorted rows add to an element is found by a search.

#include "lib/Conversion/NNToVector/AddRows.h"

#include "spillway/Conversion/NNToVector/ElementInterface.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::kernels;

namespace {

/// The code of one element, or of one in each lane.
class ElementSum {
public:
  ElementSum(nn::AddRowsOp op, ElementEmitter &emitter, ArrayRef<LaneIndex> index)
      : op(op), emitter(emitter), b(emitter.builder()), index(index), row(emitter.indices().resolve(index.front())),
        count(op.getRows().getType().getDimSize(0)) {}

  Value emit() {
    Value data = emitter.pull(op.getData(), index);
    if (count == 0)
      return data;
    bool isUniform = emitter.indices().isUniform(index) && !isa<VectorType>(data.getType());
    if (!isUniform)
      data = emitter.spread(data);
    auto [lowest, highest] = range();
    Value from = firstFrom(lowest);
    Value to = firstFrom(arith::AddIOp::create(b, highest, constant(1)));
    auto loop = scf::ForOp::create(b, from, to, emitter.kernel().constantIndex(1), data);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value at = loop.getInductionVar();
    emitter.kernel().setFacts(at, {1, count});
    ElementEmitter inner(emitter);
    Value sum = add(loop.getRegionIterArg(0), updateAt(inner, at, isUniform));
    if (!isRowUniform()) {
      Value isOwn = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, positions(inner), inner.spread(rowAt(inner, LaneIndex(at))));
      sum = arith::SelectOp::create(b, isOwn, sum, loop.getRegionIterArg(0));
    }
    scf::YieldOp::create(b, sum);
    return loop.getResult(0);
  }

private:
  bool isRowUniform() { return emitter.indices().isUniform(row); }

  Value constant(int64_t value) { return arith::ConstantOp::create(b, b.getI64IntegerAttr(value)); }

  Value toInteger(Value position) {
    Type type = b.getI64Type();
    if (auto vector = dyn_cast<VectorType>(position.getType()))
      type = vector.clone(type);
    return arith::IndexCastOp::create(b, type, position);
  }

  /// The row of each lane.
  Value positions(ElementEmitter &at) { return toInteger(at.indices().positions(row)); }

  /// The lowest and the highest row of active lanes.
  std::pair<Value, Value> range() {
    IndexMath &math = emitter.indices();
    Value base = toInteger(math.value(row.base));
    if (isRowUniform())
      return {base, base};
    if (!row.offsets) {
      Value last = arith::AddIOp::create(b, base, constant((math.active() - 1) * row.stride));
      return row.stride < 0 ? std::pair(last, base) : std::pair(base, last);
    }
    Value rows = positions(emitter), firstLane = vector::ExtractOp::create(b, rows, 0);
    // The first lane is active.
    rows = arith::SelectOp::create(b, emitter.mask(), rows, emitter.spread(firstLane));
    return {vector::ReductionOp::create(b, vector::CombiningKind::MINSI, rows),
            vector::ReductionOp::create(b, vector::CombiningKind::MAXSI, rows)};
  }

  Value rowAt(ElementEmitter &at, LaneIndex place) { return at.pull(op.getRows(), place); }

  /// How many rows lie below `bound`. Straight-line code, so that it moves out of loops that it does not depend on.
  Value firstFrom(Value bound) {
    IndexMath &math = emitter.indices();
    KernelBuilder &kernel = emitter.kernel();
    Value below = kernel.constantIndex(0);
    for (int64_t step = static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(count))); step != 0; step /= 2) {
      Value next = arith::AddIOp::create(b, below, kernel.constantIndex(step));
      Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, next, kernel.constantIndex(count));
      Value last = arith::MinSIOp::create(b, next, kernel.constantIndex(count));
      kernel.setFacts(last, {1, count + 1});
      Value isBelow = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, rowAt(emitter, math.add(LaneIndex(last), -1)), bound);
      below = arith::SelectOp::create(b, arith::AndIOp::create(b, exists, isBelow), next, below);
    }
    return below;
  }

  Value updateAt(ElementEmitter &inner, Value at, bool isUniform) {
    ElementIndex source(index);
    source.front() = inner.checkedIndex(inner.pull(op.getOrder(), LaneIndex(at)), count);
    return isUniform ? inner.pull(op.getUpdates(), source) : inner.emit(op.getUpdates(), source);
  }

  Value add(Value sum, Value update) {
    if (isa<FloatType>(op.getType().getElementType()))
      return arith::AddFOp::create(b, sum, update);
    return arith::AddIOp::create(b, sum, update);
  }

  nn::AddRowsOp op;
  ElementEmitter &emitter;
  ImplicitLocOpBuilder &b;
  ArrayRef<LaneIndex> index;
  LaneIndex row;
  int64_t count;
};

struct AddRowsElements : ElementOpInterface::ExternalModel<AddRowsElements, nn::AddRowsOp> {
  Value pullElement(Operation *op, ElementEmitter &emitter, ArrayRef<LaneIndex> index) const {
    return ElementSum(cast<nn::AddRowsOp>(op), emitter, index).emit();
  }
};

} // namespace

void kernels::attachAddRows(MLIRContext *context) { nn::AddRowsOp::attachInterface<AddRowsElements>(*context); }
