// Builds operations of nn, arith and math from ONNX semantics, and evaluates at
// once what depends on constants alone.
#pragma once

#include "spillway/Conversion/OnnxToNN/KnownValues.h"
#include "spillway/Conversion/OnnxToNN/Tensor.h"

#include "dialects/NN/NN.h"

namespace spillway {

/// Every method returns a tensor of static shape. Operands of a binary operation
/// must agree in shape and type (`broadcast` and `cast` make them so); shapes
/// are the caller's to check: methods do not diagnose.
class Emitter {
public:
  Emitter(mlir::OpBuilder &builder, KnownValues &values)
      : builder(builder), values(values), location(builder.getUnknownLoc()) {}

  void setLocation(mlir::Location where) { location = where; }
  mlir::MLIRContext *context() { return builder.getContext(); }

  /// Creates an operation with one result; evaluates it where its operands are known.
  template <typename Op, typename... Args> mlir::Value create(Args &&...args) {
    Op op = Op::create(builder, location, std::forward<Args>(args)...);
    if constexpr (requires { op.getIndices(); })
      effects_.faults += !values.isKnown(op.getIndices());
    ++made;
    checkSize(op->getResult(0));
    return values.fold(op);
  }
  /// Whether a tensor of more elements than any may have (maxElementCount) was made since the last
  /// call. It must not stay.
  bool takeOversized() { return std::exchange(oversized, false); }

  /// A number that a type of integers lacks.
  struct Unfit {
    double value;
    DataType type;
  };
  /// The last number that was to be an element of a type that lacks it, since the last call. What was
  /// made of it must not stay.
  std::optional<Unfit> takeUnfit() { return std::exchange(unfit, std::nullopt); }

  /// How many operations and constants were made or evaluated.
  uint64_t numMade() const { return made; }

  /// What a step does to more than the values that it computes.
  struct Effects {
    /// Operations that it may fail at: an index may be out of range.
    uint64_t faults = 0;
    /// States that it updates.
    uint64_t updates = 0;
  };
  const Effects &effects() const { return effects_; }
  void noteUpdate() { ++effects_.updates; }

  mlir::RankedTensorType typeOf(DataType type, llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, elementType(context(), type));
  }

  // Constants
  Tensor splat(DataType type, llvm::ArrayRef<int64_t> shape, double value);
  Tensor splatInt(DataType type, llvm::ArrayRef<int64_t> shape, int64_t value);
  /// A tensor of one dimension.
  Tensor vector(DataType type, llvm::ArrayRef<int64_t> values);
  Tensor constant(DataType type, mlir::DenseElementsAttr value);
  /// A splat like `a`. A number that a type of integers lacks is unfit (see takeUnfit).
  Tensor like(Tensor a, double value) { return a.moved(splat(a.type, a.shape(), value).value); }
  /// A splat like `a`, of which integers have all bits.
  Tensor likeInt(Tensor a, int64_t value) { return a.moved(splatInt(a.type, a.shape(), value).value); }
  /// The values, where they are known at compile time.
  std::optional<TensorValue> known(Tensor a) { return values.lookup(a.value); }

  // Movement
  Tensor reshape(Tensor a, llvm::ArrayRef<int64_t> shape);
  /// To `shape` by numpy's rule; `a` must be broadcastable to it.
  Tensor broadcast(Tensor a, llvm::ArrayRef<int64_t> shape);
  /// Dimension i of `a` becomes dimension dims[i].
  Tensor broadcastInDims(Tensor a, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> shape);
  Tensor transpose(Tensor a, llvm::ArrayRef<int64_t> perm);
  Tensor slice(Tensor a, llvm::ArrayRef<int64_t> offsets, llvm::ArrayRef<int64_t> sizes,
               llvm::ArrayRef<int64_t> strides);
  /// [begin, begin + size) along one dimension.
  Tensor sliceDim(Tensor a, int64_t dim, int64_t begin, int64_t size);
  Tensor concat(llvm::ArrayRef<Tensor> inputs, int64_t dim);
  /// The same of many inputs: a few at a time, so that all but the last make equal kernels.
  Tensor join(llvm::ArrayRef<Tensor> inputs, int64_t dim);
  /// The integers of a few bits that the bytes of `a` hold: of the last dimension, or, for a tensor of
  /// an odd count, of all in row-major order.
  Tensor unpack(Tensor a, int64_t bits, bool isSigned, llvm::ArrayRef<int64_t> shape);
  /// Index along `dim`.
  Tensor iota(DataType type, llvm::ArrayRef<int64_t> shape, int64_t dim);
  /// Rows of a weight are read where they lie: the weight need not be fetched.
  Tensor gather(Tensor data, Tensor indices, int64_t dim);

  // Elementwise
  Tensor cast(Tensor a, DataType type);
  Tensor add(Tensor a, Tensor b);
  Tensor sub(Tensor a, Tensor b);
  Tensor mul(Tensor a, Tensor b);
  /// Integers truncate; an integer divisor of zero counts as one.
  Tensor div(Tensor a, Tensor b);
  /// The sign of the dividend; an integer divisor of zero counts as one.
  Tensor rem(Tensor a, Tensor b);
  /// NaN where either is.
  Tensor max(Tensor a, Tensor b);
  Tensor min(Tensor a, Tensor b);
  Tensor neg(Tensor a);
  Tensor abs(Tensor a);
  Tensor logicalAnd(Tensor a, Tensor b);
  Tensor logicalOr(Tensor a, Tensor b);
  Tensor logicalXor(Tensor a, Tensor b);
  Tensor logicalNot(Tensor a);
  enum class Order { equal, less, lessOrEqual, greater, greaterOrEqual };
  /// False where an operand is NaN.
  Tensor compare(Order order, Tensor a, Tensor b);
  Tensor isNaN(Tensor a);
  /// Elements of `a` where the condition is true, else of `b`.
  Tensor select(Tensor condition, Tensor a, Tensor b);
  /// A function of math on floats; f16 and bf16 are computed in f32.
  template <typename Op> Tensor unary(Tensor a) {
    return inComputeType(a, [&](Tensor x) -> Tensor {
      return {create<Op>(x.tensorType(), x.value), x.type};
    });
  }
  /// Unsigned integers as signed ones of the same order, and back: the highest bit is flipped.
  Tensor inSignedOrder(Tensor a);
  Tensor asUnsigned(Tensor a, DataType type);
  Tensor pow(Tensor base, Tensor exponent);
  Tensor sigmoid(Tensor a);
  /// `function` of `a`, f16 and bf16 being computed in f32 and rounded once.
  template <typename Function> Tensor inComputeType(Tensor a, Function function) {
    bool narrow = a.type == DataType::f16 || a.type == DataType::bf16;
    return narrow ? cast(function(cast(a, DataType::f32)), a.type) : function(a);
  }

  // Reductions
  /// `dims` ascending; they stay with size one where `keep` is set.
  Tensor reduce(nn::ReductionKind kind, Tensor a, llvm::ArrayRef<int64_t> dims, bool keep);

private:
  void checkSize(mlir::Value value);
  template <typename FloatOp, typename SignedOp, typename UnsignedOp>
  Tensor binary(Tensor a, Tensor b);
  std::optional<Tensor> movedSplat(Tensor a, llvm::ArrayRef<int64_t> shape);
  Tensor safeDivisor(Tensor a, Tensor b);
  Tensor integerMean(Tensor a, llvm::ArrayRef<int64_t> dims, bool keep);
  Tensor reduceUnsignedOrder(nn::ReductionKind kind, Tensor a, llvm::ArrayRef<int64_t> dims,
                             bool keep);

  mlir::OpBuilder &builder;
  KnownValues &values;
  mlir::Location location;
  bool oversized = false;
  std::optional<Unfit> unfit;
  uint64_t made = 0;
  Effects effects_;
};

} // namespace spillway
