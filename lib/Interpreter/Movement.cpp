// Operations whose result elements are elements of an operand, or follow from their place.

#include "Elements.h"
#include "Evaluators.h"

#include "runtime/base/Threefry.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cstring>
#include <numeric>

using namespace mlir;
using namespace spillway;
using namespace spillway::nn;

namespace {

/// Calls `visit` with each index into `shape`, in row-major order.
template <typename Visit> void forEachIndex(ArrayRef<int64_t> shape, Visit visit) {
  int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
  SmallVector<int64_t> index(shape.size());
  for (int64_t i = 0; i < count; ++i) {
    visit(ArrayRef<int64_t>(index));
    for (int64_t d = static_cast<int64_t>(shape.size()) - 1; d >= 0 && ++index[d] == shape[d]; --d)
      index[d] = 0;
  }
}

/// The tensor whose element at an index is `operand`'s at the index that `source`
/// makes of it (into its second parameter, one entry per operand dimension), or
/// `otherwise` where `source` returns false.
template <typename Source>
TensorValue pull(const TensorValue &operand, RankedTensorType type, Source source,
                const char *otherwise = nullptr) {
  TensorValue result(type);
  size_t width = elementBytes(type.getElementType());
  const char *from = operand.getBytes().data();
  char *to = result.getMutableBytes().data();
  SmallVector<int64_t> strides = computeSuffixProduct(operand.getShape());
  SmallVector<int64_t> at(strides.size());
  forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index) {
    bool inside = source(index, MutableArrayRef<int64_t>(at));
    std::memcpy(to, inside ? from + linearize(at, strides) * width : otherwise, width);
    to += width;
  });
  return result;
}

/// Where a padding mode finds index `i`, which may lie outside [0, size).
std::optional<int64_t> padSource(PadMode mode, int64_t i, int64_t size) {
  if (i >= 0 && i < size)
    return i;
  switch (mode) {
  case PadMode::constant:
    return std::nullopt;
  case PadMode::edge:
    return i < 0 ? 0 : size - 1;
  case PadMode::wrap:
    return ((i % size) + size) % size;
  case PadMode::reflect: {
    if (size == 1)
      return 0;
    int64_t period = 2 * (size - 1);
    int64_t folded = ((i % period) + period) % period;
    return std::min(folded, period - folded);
  }
  }
  llvm_unreachable("no such mode");
}

/// Indices of gathers: negative ones count from the end of `size`, or, where given,
/// of the size that `sizeOf` states for the i-th.
FailureOr<std::vector<int64_t>> normalizeIndices(const TensorValue &indices,
                                                 llvm::function_ref<int64_t(int64_t)> sizeOf,
                                                 std::string &reason) {
  std::vector<int64_t> values = loadSigned(indices);
  for (auto [i, value] : llvm::enumerate(values)) {
    int64_t size = sizeOf(i);
    if (value < -size || value >= size) {
      reason = "index " + std::to_string(value) + " is out of range of size " + std::to_string(size);
      return failure();
    }
    value += value < 0 ? size : 0;
  }
  return values;
}

TensorValue concat(ConcatOp op, ArrayRef<TensorValue> operands) {
  int64_t dim = op.getDim();
  RankedTensorType type = cast<RankedTensorType>(op.getType());
  TensorValue result(type);
  char *to = result.getMutableBytes().data();
  int64_t outer = std::accumulate(type.getShape().begin(), type.getShape().begin() + dim, int64_t(1),
                                  std::multiplies<>());
  for (int64_t o = 0; o < outer; ++o)
    for (const TensorValue &operand : operands) {
      size_t bytes = operand.getBytes().size() / outer;
      std::copy_n(operand.getBytes().data() + o * bytes, bytes, to);
      to += bytes;
    }
  return result;
}

FailureOr<TensorValue> gatherElements(GatherElementsOp op, ArrayRef<TensorValue> operands,
                                     std::string &reason) {
  const TensorValue &data = operands[0];
  int64_t dim = op.getDim();
  FailureOr<std::vector<int64_t>> picks = normalizeIndices(
      operands[1], [&](int64_t) { return data.getShape()[dim]; }, reason);
  if (failed(picks))
    return failure();
  const int64_t *pick = picks->data();
  return pull(data, cast<RankedTensorType>(op.getType()), [&](ArrayRef<int64_t> index, auto at) {
    llvm::copy(index, at.begin());
    at[dim] = *pick++;
    return true;
  });
}

FailureOr<TensorValue> gatherND(GatherNDOp op, ArrayRef<TensorValue> operands, std::string &reason) {
  const TensorValue &data = operands[0], &indices = operands[1];
  int64_t batch = op.getBatchDims(), tuple = indices.getShape().back();
  int64_t leading = static_cast<int64_t>(indices.getShape().size()) - 1;
  FailureOr<std::vector<int64_t>> picks = normalizeIndices(
      indices, [&](int64_t i) { return data.getShape()[batch + i % tuple]; }, reason);
  if (failed(picks))
    return failure();
  SmallVector<int64_t> tupleStrides = computeSuffixProduct(indices.getShape().drop_back());
  return pull(data, cast<RankedTensorType>(op.getType()), [&](ArrayRef<int64_t> index, auto at) {
    int64_t which = linearize(index.take_front(leading), tupleStrides);
    llvm::copy(index.take_front(batch), at.begin());
    std::copy_n(picks->data() + which * tuple, tuple, at.begin() + batch);
    llvm::copy(index.drop_front(leading), at.begin() + batch + tuple);
    return true;
  });
}

TensorValue unpack(UnpackOp op, const TensorValue &operand) {
  auto type = cast<RankedTensorType>(op.getType());
  auto bits = static_cast<unsigned>(op.getBits()), perByte = 8 / bits;
  ArrayRef<uint8_t> bytes = operand.get<uint8_t>();
  std::vector<int64_t> values(type.getNumElements());
  for (auto [i, value] : llvm::enumerate(values)) {
    uint64_t number = (bytes[i / perByte] >> (i % perByte * bits)) & llvm::maskTrailingOnes<uint64_t>(bits);
    value = op.getIsSigned() ? llvm::SignExtend64(number, bits) : static_cast<int64_t>(number);
  }
  return storeIntegers(type, values);
}

TensorValue iota(IotaOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  std::vector<int64_t> values;
  values.reserve(type.getNumElements());
  forEachIndex(type.getShape(),
               [&](ArrayRef<int64_t> index) { values.push_back(index[op.getDim()]); });
  if (isa<FloatType>(type.getElementType()))
    return storeFloats(type, ArrayRef<double>(std::vector<double>(values.begin(), values.end())));
  return storeIntegers(type, values);
}

TensorValue random(RandomOp op, const TensorValue &keys) {
  TensorValue result(cast<RankedTensorType>(op.getType()));
  MutableArrayRef<uint32_t> bits = result.getMutable<uint32_t>();
  if (bits.empty())
    return result;
  size_t each = bits.size() / keys.getNumElements();
  for (auto [i, word] : llvm::enumerate(bits))
    word = static_cast<uint32_t>(threefry(static_cast<uint64_t>(keys.get<int64_t>()[i / each]), i % each));
  return result;
}

} // namespace

FailureOr<TensorValue> spillway::gather(const TensorValue &data, const TensorValue &indices,
                                       int64_t dim, RankedTensorType type, std::string &reason) {
  FailureOr<std::vector<int64_t>> picks = normalizeIndices(
      indices, [&](int64_t) { return data.getShape()[dim]; }, reason);
  if (failed(picks))
    return failure();
  int64_t rank = indices.getType().getRank();
  SmallVector<int64_t> strides = computeSuffixProduct(indices.getShape());
  return pull(data, type, [&](ArrayRef<int64_t> index, auto at) {
    llvm::copy(index.take_front(dim), at.begin());
    at[dim] = (*picks)[linearize(index.slice(dim, rank), strides)];
    llvm::copy(index.drop_front(dim + rank), at.begin() + dim + 1);
    return true;
  });
}

FailureOr<TensorValue> spillway::evaluateMovement(Operation *op, ArrayRef<TensorValue> operands,
                                                 std::string &reason) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  return TypeSwitch<Operation *, FailureOr<TensorValue>>(op)
      .Case([&](ReshapeOp) { return operands[0].as(type); })
      .Case([&](UnpackOp unpacked) { return unpack(unpacked, operands[0]); })
      .Case([&](BroadcastOp broadcast) {
        ArrayRef<int64_t> dims = broadcast.getDims(), shape = operands[0].getShape();
        return pull(operands[0], type, [&](ArrayRef<int64_t> index, auto at) {
          for (auto [d, dim] : llvm::enumerate(dims))
            at[d] = shape[d] == 1 ? 0 : index[dim];
          return true;
        });
      })
      .Case([&](TransposeOp transpose) {
        return pull(operands[0], type, [&](ArrayRef<int64_t> index, auto at) {
          for (auto [d, dim] : llvm::enumerate(transpose.getPerm()))
            at[dim] = index[d];
          return true;
        });
      })
      .Case([&](SliceOp slice) {
        return pull(operands[0], type, [&](ArrayRef<int64_t> index, auto at) {
          for (auto [d, i] : llvm::enumerate(index))
            at[d] = slice.getOffsets()[d] + i * slice.getStrides()[d];
          return true;
        });
      })
      .Case([&](WindowsOp windows) {
        size_t sliding = windows.getStrides().size(),
               leading = operands[0].getShape().size() - sliding;
        return pull(operands[0], type, [&](ArrayRef<int64_t> index, auto at) {
          llvm::copy(index.take_front(leading), at.begin());
          for (size_t d = 0; d < sliding; ++d)
            at[leading + d] = index[leading + d] * windows.getDilations()[d] +
                              index[leading + sliding + d] * windows.getStrides()[d];
          return true;
        });
      })
      .Case([&](ConcatOp concatenation) { return concat(concatenation, operands); })
      .Case([&](PadOp pad) {
        ArrayRef<int64_t> low = pad.getLow(), shape = operands[0].getShape();
        PadMode mode = pad.getMode();
        return pull(
            operands[0], type,
            [&](ArrayRef<int64_t> index, auto at) {
              for (auto [d, i] : llvm::enumerate(index)) {
                std::optional<int64_t> source = padSource(mode, i - low[d], shape[d]);
                if (!source)
                  return false;
                at[d] = *source;
              }
              return true;
            },
            pad.getValue() ? operands[1].getBytes().data() : nullptr);
      })
      .Case([&](IotaOp index) { return iota(index); })
      .Case([&](RandomOp op) { return random(op, operands[0]); })
      .Case(
          [&](GatherOp op) { return gather(operands[0], operands[1], op.getDim(), type, reason); })
      .Case([&](GatherElementsOp op) { return gatherElements(op, operands, reason); })
      .Case([&](GatherNDOp op) { return gatherND(op, operands, reason); })
      .Default([&](Operation *) {
        reason = "not an operation that moves elements";
        return failure();
      });
}
