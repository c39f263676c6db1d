#include "Elements.h"

#include "runtime/base/SmallFloat.h"

#include "dialects/NN/NN.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace spillway;

namespace {

template <typename From, typename To, typename Convert>
void convert(ArrayRef<From> from, To *to, Convert convert) {
  for (auto [i, value] : llvm::enumerate(from))
    to[i] = convert(value);
}

/// Calls `visit` with a value of the unsigned type that stores integers of `type`.
template <typename Visit> void withStorage(Type type, Visit visit) {
  switch (nn::elementBytes(type)) {
  case 1:
    return visit(uint8_t());
  case 2:
    return visit(uint16_t());
  case 4:
    return visit(uint32_t());
  default:
    return visit(uint64_t());
  }
}

} // namespace

template <typename T> std::vector<T> spillway::loadFloats(const TensorValue &tensor) {
  std::vector<T> values(tensor.getNumElements());
  Type type = tensor.getElementType();
  auto same = [](auto value) { return static_cast<T>(value); };
  if (type.isF64())
    convert(tensor.get<double>(), values.data(), same);
  else if (type.isF32())
    convert(tensor.get<float>(), values.data(), same);
  else if (type.isF16())
    convert(tensor.get<uint16_t>(), values.data(), halfToFloat);
  else
    convert(tensor.get<uint16_t>(), values.data(), bfloat16ToFloat);
  return values;
}

template <typename T>
TensorValue spillway::storeFloats(RankedTensorType type, ArrayRef<T> values) {
  TensorValue tensor(type);
  Type element = type.getElementType();
  if (element.isF64())
    convert(values, tensor.getMutable<double>().data(),
            [](T value) { return static_cast<double>(value); });
  else if (element.isF32())
    convert(values, tensor.getMutable<float>().data(),
            [](T value) { return static_cast<float>(value); });
  else if (element.isF16())
    convert(values, tensor.getMutable<uint16_t>().data(),
            [](T value) { return halfFromDouble(value); });
  else
    convert(values, tensor.getMutable<uint16_t>().data(),
            [](T value) { return bfloat16FromDouble(value); });
  return tensor;
}

template std::vector<float> spillway::loadFloats(const TensorValue &);
template std::vector<double> spillway::loadFloats(const TensorValue &);
template TensorValue spillway::storeFloats(RankedTensorType, ArrayRef<float>);
template TensorValue spillway::storeFloats(RankedTensorType, ArrayRef<double>);
template TensorValue spillway::storeFloats(RankedTensorType, ArrayRef<long double>);

std::vector<uint64_t> spillway::loadUnsigned(const TensorValue &tensor) {
  std::vector<uint64_t> values(tensor.getNumElements());
  withStorage(tensor.getElementType(), [&](auto storage) {
    convert(tensor.get<decltype(storage)>(), values.data(),
            [](auto value) { return static_cast<uint64_t>(value); });
  });
  return values;
}

std::vector<int64_t> spillway::loadSigned(const TensorValue &tensor) {
  std::vector<int64_t> values(tensor.getNumElements());
  int unusedBits = 64 - tensor.getElementType().getIntOrFloatBitWidth();
  withStorage(tensor.getElementType(), [&](auto storage) {
    convert(tensor.get<decltype(storage)>(), values.data(), [=](auto value) {
      return static_cast<int64_t>(static_cast<uint64_t>(value) << unusedBits) >> unusedBits;
    });
  });
  return values;
}

TensorValue spillway::storeIntegers(RankedTensorType type, ArrayRef<int64_t> values) {
  TensorValue tensor(type);
  bool bits = type.getElementType().isInteger(1);
  withStorage(type.getElementType(), [&](auto storage) {
    using Storage = decltype(storage);
    convert(values, tensor.getMutable<Storage>().data(), [=](int64_t value) {
      return static_cast<Storage>(bits ? value & 1 : value);
    });
  });
  return tensor;
}
