#include "spillway/Differentiate/Passes.h"

#include "dialects/Zero/Zero.h"
#include "lib/Differentiate/Rules/Rule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace spillway {
#define GEN_PASS_DEF_NNSAVELESSPASS
#include "spillway/Differentiate/Passes.h.inc"
} // namespace spillway

using namespace mlir;
using namespace spillway;
using derivatives::dimensions;
using derivatives::RuleBuilder;

namespace {

/// What is this much smaller than a value costs nothing beside it.
constexpr int64_t smallShare = 16;

int64_t bytesOf(Value value) { return nn::tensorBytes(cast<RankedTensorType>(value.getType())); }

bool isElementwise(Operation *op) {
  return op && op->getNumResults() == 1 && OpTrait::hasElementwiseMappableTraits(op);
}

/// Whether each element of its result is one of its operand, by its place.
bool isMovement(Operation *op) { return isa_and_present<nn::ReshapeOp, nn::BroadcastOp>(op); }

/// Whether each kernel that reads it makes it anew, of next to nothing.
bool isConstantLike(Operation *op) {
  return op && (op->hasTrait<OpTrait::ConstantLike>() || isa<nn::IotaOp, nn::RandomOp>(op));
}

class FunctionSaver {
public:
  FunctionSaver(func::FuncOp function, Operation *loss) : block_(function.getBody().front()), loss_(loss) {}

  int64_t run() {
    for (auto softmax : llvm::make_early_inc_range(block_.getOps<nn::LogSoftmaxOp>()))
      if (isForward(softmax) && isTaken(softmax.getResult()))
        takeApart(softmax);
    for (Operation &op : llvm::make_early_inc_range(block_))
      if (isa<nn::GatherElementsOp, nn::GatherNDOp>(op))
        pickEarlier(&op);
    repeatElementwise();
    return static_cast<int64_t>(repeated_);
  }

private:
  bool isForward(Operation *op) const { return op == loss_ || op->isBeforeInBlock(loss_); }
  bool isTaken(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) { return !isForward(user); });
  }

  //===--------------------------------------------------------------------===//
  // Losses over many classes
  //===--------------------------------------------------------------------===//

  void takeApart(nn::LogSoftmaxOp op) {
    Value x = op.getOperand();
    auto shape = derivatives::shapeOf(x);
    if (getElementTypeOrSelf(x).getIntOrFloatBitWidth() < 32)
      return;
    OpBuilder builder(op);
    RuleBuilder b(builder, op.getLoc());
    SmallVector<int64_t> dims{static_cast<int64_t>(op.getDim())};
    Value centered = b.sub(x, b.expand(b.reduce(nn::ReductionKind::max, x, dims), dims, shape));
    Value sum = b.sum(b.create<math::ExpOp>(centered), dims);
    op.getResult().replaceAllUsesWith(b.sub(centered, b.expand(b.create<math::LogOp>(sum), dims, shape)));
    op.erase();
  }

  /// Picks of an elementwise value's operands what is picked of it.
  void pickEarlier(Operation *pick) {
    Value data = pick->getOperand(0);
    if (bytesOf(data) < smallShare * bytesOf(pick->getResult(0)))
      return;
    OpBuilder builder(pick);
    if (Value picked = pickOf(data, pick, builder, /*depth=*/0)) {
      pick->getResult(0).replaceAllUsesWith(picked);
      pick->erase();
    }
  }

  /// What `pick` would give of `data`, if that is elementwise; null where it must be picked of `data` itself.
  Value pickOf(Value data, Operation *pick, OpBuilder &builder, unsigned depth) {
    constexpr unsigned maxDepth = 8;
    Operation *op = data.getDefiningOp();
    if (!isElementwise(op) || isConstantLike(op) || depth == maxDepth)
      return {};
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      Value picked = pickOf(operand, pick, builder, depth + 1);
      operands.push_back(picked ? picked : pickFrom(operand, pick, builder));
    }
    auto shape = cast<RankedTensorType>(pick->getResult(0).getType()).getShape();
    OperationState state(op->getLoc(), op->getName(), operands,
                         cast<RankedTensorType>(data.getType()).clone(shape), op->getAttrs());
    return builder.create(state)->getResult(0);
  }

  /// Picks of a leaf: of a splat and of what is repeated along the picked dimension, no pick is needed.
  static Value pickFrom(Value data, Operation *pick, OpBuilder &builder) {
    auto type = cast<RankedTensorType>(data.getType());
    auto shape = cast<RankedTensorType>(pick->getResult(0).getType()).getShape();
    RuleBuilder b(builder, pick->getLoc());
    SplatElementsAttr splat;
    if (matchPattern(data, m_Constant(&splat)))
      return b.create<arith::ConstantOp>(splat.resizeSplat(type.clone(shape)));
    auto broadcast = data.getDefiningOp<nn::BroadcastOp>();
    auto elements = dyn_cast<nn::GatherElementsOp>(pick);
    if (broadcast && elements && !llvm::is_contained(broadcast.getDims(), static_cast<int64_t>(elements.getDim())) &&
        isOneAlong(elements, type.getShape()))
      return b.create<nn::BroadcastOp>(type.clone(shape), broadcast.getOperand(), broadcast.getDims());
    IRMapping mapping;
    mapping.map(pick->getOperand(0), data);
    Operation *copy = builder.clone(*pick, mapping);
    copy->getResult(0).setType(type.clone(shape));
    return copy->getResult(0);
  }

  /// Whether one element is picked for each index of the other dimensions.
  static bool isOneAlong(nn::GatherElementsOp pick, ArrayRef<int64_t> data) {
    SmallVector<int64_t> shape(data);
    shape[pick.getDim()] = 1;
    return pick.getType().getShape() == ArrayRef(shape);
  }

  //===--------------------------------------------------------------------===//
  // Values that follow from others
  //===--------------------------------------------------------------------===//

  /// Finds what the backward half can compute in few steps. What ends the kernel of a product, reduction or the like
  /// is none of it, as that kernel stores it.
  void findFollowers() {
    constexpr unsigned maxSteps = 24;
    llvm::SmallDenseSet<Value> endsAnchor;
    for (Operation &op : block_) {
      if (!isForward(&op))
        break;
      if (op.getNumResults() != 1 || isConstantLike(&op))
        continue;
      Value value = op.getResult(0);
      if (isa<nn::AnchorOpInterface>(op))
        endsAnchor.insert(value);
      if (!isElementwise(&op) && !isMovement(&op))
        continue;
      if (!isa<nn::BroadcastOp>(op) && llvm::any_of(op.getOperands(), [&](Value operand) {
            return operand.hasOneUse() && endsAnchor.contains(operand);
          })) {
        endsAnchor.insert(value);
        continue;
      }
      unsigned steps = 1;
      for (Value operand : op.getOperands())
        steps += steps_.lookup(operand);
      if (steps <= maxSteps)
        steps_[value] = steps;
    }
  }

  bool follows(Value value) const { return steps_.contains(value); }

  /// What `value` follows from, without what is small beside it or there anyway.
  void collectLeaves(Value value, int64_t bytes, llvm::SmallSetVector<Value, 4> &leaves,
                     llvm::SmallDenseSet<Value> &seen) const {
    if (!seen.insert(value).second)
      return;
    if (follows(value)) {
      for (Value operand : value.getDefiningOp()->getOperands())
        collectLeaves(operand, bytes, leaves, seen);
      return;
    }
    Operation *op = value.getDefiningOp();
    if (op && isForward(op) && !isConstantLike(op) &&
        bytesOf(value) * smallShare > bytes && !isa<zero::UseOp>(op))
      leaves.insert(value);
  }

  void repeatElementwise() {
    findFollowers();
    // By what they follow from: the values that are taken, each by elementwise operations alone.
    llvm::MapVector<SmallVector<Value>, SmallVector<Value>> groups;
    for (Operation &op : block_) {
      if (!isForward(&op))
        break;
      if (!isElementwise(&op) || !follows(op.getResult(0)) || !isTakenElementwise(op.getResult(0)))
        continue;
      llvm::SmallSetVector<Value, 4> leaves;
      llvm::SmallDenseSet<Value> seen;
      collectLeaves(op.getResult(0), bytesOf(op.getResult(0)), leaves, seen);
      groups[SmallVector<Value>(leaves.getArrayRef())].push_back(op.getResult(0));
    }
    for (auto &[leaves, values] : groups) {
      int64_t added = 0, saved = 0;
      for (Value leaf : leaves)
        if (!isTaken(leaf))
          added += bytesOf(leaf);
      for (Value value : values)
        saved += isTakenOtherwise(value) ? 0 : bytesOf(value);
      if (added <= saved)
        for (Value value : values)
          repeat(value);
    }
  }

  bool isTakenElementwise(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) { return !isForward(user) && isElementwise(user); });
  }
  bool isTakenOtherwise(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) { return !isForward(user) && !isElementwise(user); });
  }

  /// Gives elementwise operations of the backward half the value computed again.
  void repeat(Value value) {
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses()))
      if (!isForward(use.getOwner()) && isElementwise(use.getOwner()))
        use.set(again(value));
  }

  Value again(Value value) {
    if (!follows(value))
      return value;
    if (Value known = copies_.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      copies_.map(operand, again(operand));
    OpBuilder builder(loss_->getContext());
    builder.setInsertionPointAfter(last_ ? last_ : loss_);
    last_ = builder.clone(*op, copies_);
    ++repeated_;
    return copies_.lookup(value);
  }

  Block &block_;
  Operation *loss_;
  /// Of what follows: operations from what is kept to it.
  llvm::DenseMap<Value, unsigned> steps_;
  IRMapping copies_;
  /// The last copy; they stand behind the loss.
  Operation *last_ = nullptr;
  size_t repeated_ = 0;
};

class NNSaveLessPass : public spillway::impl::NNSaveLessPassBase<NNSaveLessPass> {
  void runOnOperation() override {
    Operation *end = getOperation().getBody().front().getTerminator();
    Operation *loss = end->getNumOperands() ? end->getOperand(0).getDefiningOp() : nullptr;
    if (loss)
      numRepeated += FunctionSaver(getOperation(), loss).run();
  }
};

} // namespace
