#include "Masks.h"

#include "spillway/Transforms/Passes.h"

#include "spillway/Interpreter/Interpreter.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"

namespace spillway {
#define GEN_PASS_DEF_NNCAUSALMASKSPASS
#include "spillway/Transforms/Passes.h.inc"
} // namespace spillway

using namespace mlir;
using namespace spillway;

namespace {

/// What larger masks hide is not worth the time that their elements take here.
constexpr int64_t maxElements = 1 << 22;

/// Anchors compute more than their elements say.
bool isComputable(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || !isMemoryEffectFree(op) || isa<nn::AnchorOpInterface>(op))
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return type && type.getNumElements() <= maxElements;
}

/// Nothing where the mask does not follow from constants alone.
std::optional<TensorValue> valueOf(Value mask) {
  BackwardSliceOptions options;
  options.inclusive = options.omitBlockArguments = true;
  options.filter = isComputable;
  SetVector<Operation *> slice;
  if (!mask.getDefiningOp() || failed(getBackwardSlice(mask, &slice, options)))
    return std::nullopt;
  // Nothing is computed before all of it is known to be.
  auto isInSlice = [&](Value value) { return value.getDefiningOp() && slice.contains(value.getDefiningOp()); };
  if (!isInSlice(mask) || !llvm::all_of(slice, [&](Operation *op) { return llvm::all_of(op->getOperands(), isInSlice); }))
    return std::nullopt;
  llvm::DenseMap<Value, TensorValue> values;
  for (Operation *op : slice) {
    TensorValue &value = values[op->getResult(0)];
    ElementsAttr constant;
    if (matchPattern(op, m_Constant(&constant))) {
      FailureOr<TensorValue> elements = TensorValue::fromAttr(constant);
      if (failed(elements))
        return std::nullopt;
      value = *elements;
      continue;
    }
    auto operands = llvm::map_to_vector(op->getOperands(), [&](Value operand) { return values.at(operand); });
    SmallVector<TensorValue> results;
    std::string reason;
    if (failed(evaluate(op, operands, results, reason)))
      return std::nullopt;
    value = results.front();
  }
  return values.at(mask);
}

/// The o for which query i sees just the keys j <= i + o, in all batches and heads, and each sees one.
template <typename T>
std::optional<int64_t> offsetOf(ArrayRef<T> mask, int64_t queries, int64_t keys, function_ref<std::optional<bool>(T)> sees) {
  if (queries == 0 || keys == 0 || mask.empty())
    return std::nullopt;
  int64_t offset = -1;
  while (offset + 1 < keys && sees(mask[offset + 1]) == true)
    ++offset;
  if (offset < 0)
    return std::nullopt;
  for (auto [at, element] : llvm::enumerate(mask)) {
    int64_t j = static_cast<int64_t>(at) % keys, i = static_cast<int64_t>(at) / keys % queries;
    if (sees(element) != (j <= i + offset))
      return std::nullopt;
  }
  return offset;
}

std::optional<int64_t> offsetOf(const TensorValue &mask) {
  int64_t queries = mask.getShape()[2], keys = mask.getShape()[3];
  if (mask.getElementType().isInteger(1))
    return offsetOf<uint8_t>(mask.get<uint8_t>(), queries, keys, [](uint8_t keeps) { return std::optional(keeps != 0); });
  return offsetOf<float>(mask.get<float>(), queries, keys, [](float added) -> std::optional<bool> {
    if (added == 0)
      return true;
    return added <= hidingFill ? std::optional(false) : std::nullopt;
  });
}

class NNCausalMasksPass : public spillway::impl::NNCausalMasksPassBase<NNCausalMasksPass> {
  void runOnOperation() override {
    llvm::DenseMap<Value, std::optional<int64_t>> offsets;
    getOperation().walk([&](nn::AttentionOp attention) {
      Value mask = attention.getMask();
      if (!mask || attention.getCausalOffset())
        return;
      int64_t queries = attention.getQuery().getType().getDimSize(2), keys = attention.getKey().getType().getDimSize(2);
      auto type = cast<RankedTensorType>(mask.getType());
      Type element = type.getElementType();
      if (type.getDimSize(2) != queries || type.getDimSize(3) != keys || (!element.isInteger(1) && !element.isF32()))
        return;
      auto [it, isNew] = offsets.try_emplace(mask);
      if (isNew)
        if (std::optional<TensorValue> value = valueOf(mask))
          it->second = offsetOf(*value);
      if (!it->second)
        return;
      // Where the first query sees all keys, the mask hides nothing.
      if (*it->second + 1 < keys)
        attention.setCausalOffset(*it->second);
      attention.getMaskMutable().clear();
      ++numMasks;
    });
  }
};

} // namespace
