#include "spillway/Interpreter/TensorValue.h"

#include "Elements.h"
#include "dialects/NN/NN.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace spillway;

TensorValue::TensorValue(RankedTensorType type)
    : type(type), bytes(std::make_shared<std::vector<char>>(nn::tensorBytes(type))) {}

TensorValue TensorValue::as(RankedTensorType type) const {
  TensorValue view = *this;
  view.type = type;
  return view;
}

MutableArrayRef<char> TensorValue::getMutableBytes() {
  if (bytes.use_count() > 1)
    bytes = std::make_shared<std::vector<char>>(*bytes);
  return *bytes;
}

FailureOr<TensorValue> TensorValue::fromAttr(ElementsAttr attr) {
  auto type = dyn_cast<RankedTensorType>(attr.getShapedType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isIntOrFloat() ||
      type.getElementTypeBitWidth() > 64)
    return failure();
  TensorValue tensor(type);
  MutableArrayRef<char> to = tensor.getMutableBytes();
  int64_t width = nn::elementBytes(type.getElementType());
  auto fill = [&](ArrayRef<char> from, bool splat) {
    for (size_t at = 0; at < to.size(); at += splat ? width : to.size())
      std::memcpy(to.data() + at, from.data(), splat ? width : to.size());
  };
  if (auto dense = dyn_cast<DenseElementsAttr>(attr)) {
    // Bits are not stored as bytes there.
    if (type.getElementType().isInteger(1))
      llvm::copy(dense.getValues<bool>(), to.begin());
    else
      fill(dense.getRawData(), dense.isSplat());
    return tensor;
  }
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attr)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob || blob->getData().size() != to.size())
      return failure();
    fill(blob->getData(), /*splat=*/false);
    return tensor;
  }
  return failure();
}

DenseElementsAttr TensorValue::toAttr() const {
  if (getNumElements() == 0)
    return DenseElementsAttr::get(type, ArrayRef<Attribute>{});
  if (getElementType().isInteger(1))
    return DenseElementsAttr::get(type, get<bool>());
  ArrayRef<char> raw = getBytes();
  size_t width = nn::elementBytes(getElementType());
  return DenseElementsAttr::getFromRawBuffer(type, isSplat() ? raw.take_front(width) : raw);
}

bool TensorValue::isSplat() const {
  if (getNumElements() == 0)
    return false;
  // All elements are equal exactly where the bytes equal themselves one element on.
  ArrayRef<char> raw = getBytes();
  size_t width = nn::elementBytes(getElementType());
  return std::memcmp(raw.data(), raw.data() + width, raw.size() - width) == 0;
}

void TensorValue::fillUniform(std::mt19937_64 &generator, double low, double high) {
  // The distributions of the standard library differ between implementations.
  constexpr double unit = 0x1p-53;
  size_t count = getNumElements();
  if (isa<FloatType>(getElementType())) {
    std::vector<double> values(count);
    for (double &value : values)
      value = low + (high - low) * (static_cast<double>(generator() >> 11) * unit);
    *this = storeFloats(type, ArrayRef<double>(values));
    return;
  }
  std::vector<int64_t> values(count);
  bool bits = getElementType().isInteger(1);
  for (int64_t &value : values)
    value = bits ? static_cast<int64_t>(generator() & 1)
                 : static_cast<int64_t>(std::floor(
                       low + (high - low + 1) * (static_cast<double>(generator() >> 11) * unit)));
  *this = storeIntegers(type, ArrayRef<int64_t>(values));
}
