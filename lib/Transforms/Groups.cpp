#include "Groups.h"

#include "dialects/NN/Views.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace spillway;

bool spillway::isAnchor(Operation *op) { return isa<nn::AnchorOpInterface>(op); }

bool spillway::isSplat(Operation *op) {
  SplatElementsAttr splat;
  return matchPattern(op, m_Constant(&splat));
}

bool spillway::isSource(Operation *op) {
  return isa<zero::UseOp, zero::LookupOp>(op) || (isa<arith::ConstantOp>(op) && !isSplat(op));
}

bool spillway::isCheap(Operation *op) {
  constexpr double cheapFlops = 8;
  auto cost = dyn_cast<nn::CostOpInterface>(op);
  int64_t elements = cast<RankedTensorType>(op->getResult(0).getType()).getNumElements();
  return !cost || cost.getFlops() <= cheapFlops * static_cast<double>(std::max<int64_t>(1, elements));
}

zero::UpdateOp spillway::soleUpdateOf(Value value) {
  zero::UpdateOp taker;
  llvm::SmallSetVector<Value, 16> reached;
  reached.insert(value);
  for (size_t i = 0; i < reached.size(); ++i)
    for (OpOperand &use : reached[i].getUses()) {
      Operation *user = use.getOwner();
      if (auto update = dyn_cast<zero::UpdateOp>(user)) {
        if (taker && taker != update)
          return nullptr;
        taker = update;
        continue;
      }
      if (!nn::takesSameElement(use))
        return nullptr;
      reached.insert(user->getResult(0));
    }
  return taker;
}

bool spillway::isUnpackedWeight(Operation *op) {
  constexpr size_t maxOperations = 32;
  llvm::SmallSetVector<Operation *, 16> chain;
  chain.insert(op);
  llvm::SmallDenseSet<Value> leaves;
  bool readsWeight = false;
  for (size_t i = 0; i < chain.size(); ++i) {
    if (isAnchor(chain[i]) || !isCheap(chain[i]) || chain.size() > maxOperations)
      return false;
    for (Value operand : chain[i]->getOperands()) {
      Operation *definition = operand.getDefiningOp();
      if (definition && !isSource(definition)) {
        chain.insert(definition);
        continue;
      }
      leaves.insert(operand);
      readsWeight |= isa_and_present<zero::UseOp>(definition);
    }
  }
  int64_t bytes = 0;
  for (Value leaf : leaves)
    bytes += nn::tensorBytes(cast<RankedTensorType>(leaf.getType()));
  return readsWeight &&
         2 * bytes <= nn::tensorBytes(cast<RankedTensorType>(op->getResult(0).getType()));
}
