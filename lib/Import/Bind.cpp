#include "lib/Import/Bind.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"

#include "llvm/Support/Error.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::onnx;

/// Null where `text` is no number of this type.
static Attribute element(StringRef text, Type type) {
  if (auto real = dyn_cast<FloatType>(type)) {
    APFloat value(real.getFloatSemantics());
    llvm::Expected<APFloat::opStatus> status =
        value.convertFromString(text, APFloat::rmNearestTiesToEven);
    if (!status) {
      llvm::consumeError(status.takeError());
      return {};
    }
    return FloatAttr::get(type, value);
  }
  if (type.isInteger(1) && (text == "true" || text == "false"))
    return IntegerAttr::get(type, text == "true");
  unsigned width = type.getIntOrFloatBitWidth();
  bool isUnsigned = type.isUnsignedInteger() || width == 1;
  int64_t number;
  uint64_t unsignedNumber;
  if (isUnsigned) {
    if (text.getAsInteger(10, unsignedNumber) || !llvm::isUIntN(width, unsignedNumber))
      return {};
    return IntegerAttr::get(type, APInt(width, unsignedNumber));
  }
  if (text.getAsInteger(10, number) || !llvm::isIntN(width, number))
    return {};
  return IntegerAttr::get(type, APInt(width, number, /*isSigned=*/true));
}

FailureOr<ImportedTensor> spillway::onnx::boundTensor(StringRef text, RankedTensorType type,
                                                      Location location) {
  SmallVector<StringRef> texts = {text.trim()};
  bool isList = text.trim().consume_front("[");
  if (isList) {
    StringRef inner = text.trim().drop_front();
    if (!inner.consume_back("]"))
      return emitError(location) << "bound to '" << text << "', a list without its end";
    texts.clear();
    if (!inner.trim().empty())
      inner.split(texts, ',');
  }
  SmallVector<Attribute> elements;
  for (StringRef item : texts) {
    Attribute value = element(item.trim(), type.getElementType());
    if (!value)
      return emitError(location) << "bound to '" << item.trim() << "', which is no value of "
                                 << type.getElementType();
    elements.push_back(value);
  }
  auto count = static_cast<int64_t>(elements.size());
  if (isList && type.getRank() == 1 && type.isDynamicDim(0))
    type = RankedTensorType::get({count}, type.getElementType());
  if (!type.hasStaticShape())
    return emitError(location) << "cannot be bound: the file does not say its shape, " << type;
  if (isList && count != type.getNumElements())
    return emitError(location) << "bound to " << count << " values, but it has "
                               << type.getNumElements() << " elements";
  if (!isList && type.getNumElements() == 0)
    elements.clear();
  return ImportedTensor{type, DenseElementsAttr::get(type, elements)};
}
