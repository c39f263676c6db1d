#include "spillway/Conversion/NNToVector/RandomBits.h"

#include "runtime/base/Threefry.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace spillway;

namespace {

class Words {
public:
  Words(ImplicitLocOpBuilder &builder, Type type) : b(builder), type(type) {}

  Value constant(uint32_t value) { return numbers(type, value); }
  Value spread(Value word) {
    return word.getType() == type ? word : vector::BroadcastOp::create(b, type, word).getResult();
  }
  /// 32 bits of numbers of 64, from bit `first` on.
  Value part(Value number, uint64_t first) {
    Type from = number.getType();
    if (first != 0)
      number = arith::ShRUIOp::create(b, number, numbers(from, first));
    auto vector = dyn_cast<VectorType>(from);
    return spread(arith::TruncIOp::create(b, vector ? Type(VectorType::get(vector.getShape(), b.getI32Type())) : b.getI32Type(),
                                        number));
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value exclusiveOr(Value x, Value y) { return arith::XOrIOp::create(b, x, y); }
  Value rotate(Value x, int left) {
    return arith::OrIOp::create(b, arith::ShLIOp::create(b, x, constant(left)),
                                arith::ShRUIOp::create(b, x, constant(32 - left)));
  }

private:
  Value numbers(Type like, uint64_t value) {
    TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(like), static_cast<int64_t>(value));
    if (auto vector = dyn_cast<VectorType>(like))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(b, attr);
  }

  ImplicitLocOpBuilder &b;
  Type type;
};

} // namespace

Value kernels::randomBits(ImplicitLocOpBuilder &builder, Value key, Value counter, Type type) {
  Words words(builder, type);
  Value low = words.part(key, 0), high = words.part(key, 32);
  Value parity = words.exclusiveOr(words.exclusiveOr(low, high), words.constant(threefryParity));
  const Value keys[] = {low, high, parity};
  Value x = words.add(words.spread(counter), keys[0]), y = keys[1];
  for (int group = 0; group < threefryGroups; ++group) {
    for (int rotation : threefryRotations[group % 2]) {
      x = words.add(x, y);
      y = words.exclusiveOr(words.rotate(y, rotation), x);
    }
    x = words.add(x, keys[(group + 1) % 3]);
    y = words.add(words.add(y, keys[(group + 2) % 3]), words.constant(group + 1));
  }
  return x;
}
