#include "spillway/Differentiate/Differentiate.h"

#include "runtime/base/Assert.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace spillway;

#include "spillway/Differentiate/Interfaces.cpp.inc"

void Cotangents::add(Value value, Value cotangent) {
  if (!needs(value))
    return;
  SPILLWAY_ASSERT(value.getType() == cotangent.getType(), "a cotangent has the type of its value");
  Value &sum = cotangents[value];
  sum = sum ? arith::AddFOp::create(builder_, cotangent.getLoc(), sum, cotangent) : cotangent;
}

void Cotangents::reject(Operation *op, const Twine &reason) {
  rejected = true;
  op->emitError() << reason;
}

/// What the loss depends on.
static llvm::DenseSet<Value> dependencies(Value loss) {
  llvm::DenseSet<Value> found{loss};
  SmallVector<Value> open{loss};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op)
      continue;
    for (Value operand : op->getOperands())
      if (found.insert(operand).second)
        open.push_back(operand);
  }
  return found;
}

static bool holdsFloats(Value value) { return isa<FloatType>(getElementTypeOrSelf(value)); }

FailureOr<SmallVector<Value>> spillway::differentiate(Value loss, ValueRange roots, FloatType stored) {
  llvm::DenseSet<Value> needed = dependencies(loss), active;
  for (Value root : roots)
    if (needed.contains(root))
      active.insert(root);

  Block *block = loss.getParentBlock();
  SmallVector<Operation *> operations;
  LogicalResult result = success();
  for (Operation &op : block->without_terminator()) {
    if (llvm::none_of(op.getOperands(), [&](Value operand) { return active.contains(operand); }))
      continue;
    auto results = llvm::make_filter_range(op.getResults(), [&](Value value) {
      return needed.contains(value) && holdsFloats(value);
    });
    if (results.empty())
      continue;
    if (!isa<DifferentiableOpInterface>(op))
      result = op.emitError() << op.getName() << " has no derivative";
    active.insert(results.begin(), results.end());
    operations.push_back(&op);
  }
  if (failed(result))
    return failure();

  OpBuilder builder(block->getTerminator());
  Cotangents cotangents(builder, active, stored);
  if (active.contains(loss)) {
    auto type = cast<RankedTensorType>(loss.getType());
    auto one = DenseElementsAttr::get(type, builder.getFloatAttr(type.getElementType(), 1));
    cotangents.add(loss, arith::ConstantOp::create(builder, loss.getLoc(), one));
  }
  for (Operation *op : llvm::reverse(operations))
    if (llvm::any_of(op->getResults(), [&](Value value) { return cotangents.of(value); }))
      cast<DifferentiableOpInterface>(op).addCotangents(cotangents);
  if (cotangents.hasRejected())
    return failure();
  return llvm::map_to_vector(roots, [&](Value root) { return cotangents.of(root); });
}
