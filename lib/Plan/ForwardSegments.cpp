#include "spillway/Plan/ForwardSegments.h"

#include "dialects/Zero/Zero.h"
#include "spillway/Plan/Activations.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::plan;

namespace {

/// What crosses a cut has at most this share of what the backward half takes of the segment before it.
constexpr uint64_t savedOverCrossing = 2;

bool isMoment(Operation *op) { return isa<nn::CallOp, zero::LookupOp>(op); }

bool isView(Operation *op) { return isa<nn::ReshapeOp, nn::SliceOp>(op); }

Operation *earlier(Operation *a, Operation *b) {
  if (!a || !b)
    return a ? a : b;
  return a->isBeforeInBlock(b) ? a : b;
}

} // namespace

ForwardSegments::ForwardSegments(func::FuncOp function) : function_(function) {
  for (auto update : function.getOps<zero::UpdateOp>())
    for (auto [state, value] : llvm::zip_equal(update.getStates(), update.getValues()))
      updates_[state] = value.getDefiningOp();
  if (updates_.empty())
    return;
  collect();
  cut();
}

void ForwardSegments::collect() {
  Block &block = function_.getBody().front();
  Operation *loss = sourceOf(block.getTerminator()->getOperand(0)).getDefiningOp();
  if (!loss)
    return;
  for (Operation &op : block) {
    if (!isMoment(&op))
      continue;
    index_[&op] = operations_.size();
    operations_.push_back(&op);
    if (&op == loss)
      break;
  }
  for (auto [i, op] : llvm::enumerate(operations_))
    for (Value result : op->getResults()) {
      Saved &saved = values_[result];
      saved.bytes = static_cast<uint64_t>(nn::tensorBytes(cast<RankedTensorType>(result.getType())));
      saved.made = saved.lastForward = i;
      for (Operation *taker : zero::readersOf(result)) {
        auto it = index_.find(taker);
        if (it != index_.end())
          saved.lastForward = std::max(saved.lastForward, it->second);
        else if (taker->hasTrait<OpTrait::IsTerminator>())
          saved.lastForward = operations_.size();
        else
          saved.isTaken = true;
      }
    }
}

void ForwardSegments::cut() {
  if (operations_.empty())
    return;
  begins_.push_back(0);
  // What crosses before an operation, but for what crosses an earlier cut, which is kept anyway; and by
  // operation, what of it crosses no more.
  uint64_t crossing = 0, taken = 0;
  std::vector<uint64_t> ends(operations_.size() + 2);
  for (size_t at = 1; at < operations_.size(); ++at) {
    for (Value result : operations_[at - 1]->getResults()) {
      const Saved &saved = values_[result];
      taken += saved.isTaken ? saved.bytes : 0;
      crossing += saved.bytes;
      ends[std::max(at, saved.lastForward + 1)] += saved.bytes;
    }
    crossing -= ends[at];
    uint64_t given = 0;
    for (Value result : operations_[at]->getResults())
      given += values_[result].lastForward > at ? values_[result].bytes : 0;
    bool isLeast = crossing <= crossing - ends[at + 1] + given;
    if (crossing * savedOverCrossing > taken || !isLeast)
      continue;
    begins_.push_back(at);
    crossing = taken = 0;
    std::fill(ends.begin() + static_cast<std::ptrdiff_t>(at), ends.end(), 0);
  }
}

void ForwardSegments::recompute(size_t count, size_t joined) {
  // From the last to the first, as the backward half takes them.
  std::vector<std::pair<size_t, size_t>> ranges;
  for (size_t i = 0; i < count; i += joined) {
    size_t end = std::min(i + joined, count);
    ranges.emplace_back(begins_[i], end < begins_.size() ? begins_[end] : operations_.size());
  }
  for (auto [begin, end] : llvm::reverse(ranges))
    recomputeRange(begin, end);
}

/// The operations of the forward half from `begin` on that `values` follow from, in order.
std::vector<Operation *> ForwardSegments::slice(ArrayRef<Value> values, size_t begin) const {
  llvm::SmallSetVector<Operation *, 16> found;
  auto add = [&](Value value) {
    auto it = index_.find(sourceOf(value).getDefiningOp());
    if (it != index_.end() && it->second >= begin)
      found.insert(it->first);
  };
  llvm::for_each(values, add);
  for (size_t i = 0; i < found.size(); ++i)
    llvm::for_each(SmallVector<Value>(found[i]->getOperands()), add);
  std::vector<Operation *> operations(found.begin(), found.end());
  llvm::sort(operations, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return operations;
}

/// The first operation of the backward half that takes one of the values.
Operation *ForwardSegments::firstTaker(ArrayRef<Value> values) const {
  Operation *first = nullptr;
  for (Value value : values)
    for (Operation *taker : zero::readersOf(value))
      if (!index_.contains(taker))
        first = earlier(first, taker);
  return first;
}

/// The first call that gives a state which one of `readers` takes its next value; null where none does.
Operation *ForwardSegments::firstUpdate(ArrayRef<Operation *> readers) const {
  Operation *first = nullptr;
  for (Operation *reader : readers) {
    if (auto lookup = dyn_cast<zero::LookupOp>(reader))
      first = earlier(first, updates_.lookup(lookup.getStateAttr()));
    for (Value operand : reader->getOperands())
      if (auto use = sourceOf(operand).getDefiningOp<zero::UseOp>())
        first = earlier(first, updates_.lookup(use.getStateAttr()));
  }
  return first;
}

void ForwardSegments::recomputeRange(size_t begin, size_t end) {
  SmallVector<Value> targets;
  for (auto &[value, saved] : values_)
    if (saved.made >= begin && saved.made < end && saved.isTaken && saved.lastForward < end)
      targets.push_back(value);
  if (targets.empty())
    return;
  std::vector<Operation *> again = slice(targets, begin);
  Operation *before = earlier(firstTaker(targets), firstUpdate(again));
  if (before->isBeforeInBlock(operations_.back()))
    return;

  OpBuilder builder(before);
  IRMapping mapping;
  SmallVector<Operation *> views;
  auto cloneViews = [&](auto &self, Value value) -> void {
    for (Operation *user : SmallVector<Operation *>(value.getUsers()))
      if (isView(user) && user->isBeforeInBlock(before)) {
        views.push_back(builder.clone(*user, mapping));
        self(self, user->getResult(0));
      }
  };
  for (Operation *op : again) {
    builder.clone(*op, mapping);
    for (Value result : op->getResults())
      cloneViews(cloneViews, result);
  }
  auto replace = [&](auto &self, Value value) -> void {
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
      if (!use.getOwner()->isBeforeInBlock(before))
        use.set(mapping.lookup(value));
      else if (isView(use.getOwner()))
        self(self, use.getOwner()->getResult(0));
    }
  };
  for (Value target : targets)
    replace(replace, target);
  for (Operation *view : llvm::reverse(views))
    if (view->use_empty())
      view->erase();
}
