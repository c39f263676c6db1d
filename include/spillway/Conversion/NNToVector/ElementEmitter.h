// Computes elements of the tensors of a kernel's body by pulling them through it.
#pragma once

#include "spillway/Conversion/NNToVector/KernelBuilder.h"

#include <functional>

namespace spillway::kernels {

/// Gives the value of any tensor of the body at an index, by recursion over the body:
/// operands are loaded, elementwise operations become the same on vectors,
/// others (ElementOpInterface), most of them movements, become index arithmetic. Code goes to the
/// kernel's builder, which must stay in the block (or in one nested in it) where the
/// emitter was made, and only move forward; make a new emitter for each block of a
/// loop. Nothing is computed twice for the same tensor and index.
///
/// A value that is the same in all lanes is a scalar; otherwise it is a
/// vector<lanes x element>. With one lane all values are scalars.
class ElementEmitter {
public:
  /// The first `active` lanes are active, at least one. The others are not loaded or
  /// stored, what they compute is unspecified.
  ElementEmitter(KernelBuilder &kernel, int64_t lanes, int64_t active);
  ElementEmitter(KernelBuilder &kernel, int64_t lanes) : ElementEmitter(kernel, lanes, lanes) {}
  /// For a block nested in the one of `outer`, with its lanes, bindings and values.
  explicit ElementEmitter(ElementEmitter &outer);

  KernelBuilder &kernel() { return kernel_; }
  mlir::ImplicitLocOpBuilder &builder() { return kernel_.builder(); }
  IndexMath &indices() { return indices_; }
  int64_t lanes() const { return indices_.lanes(); }
  bool allActive() const { return indices_.active() == lanes(); }
  /// The active lanes as a constant vector<lanes x i1>.
  mlir::Value mask();

  using Source =
      std::function<mlir::Value(ElementEmitter &emitter, llvm::ArrayRef<LaneIndex> index)>;
  /// From now on elements of `tensor` are what `source` says.
  void bind(mlir::Value tensor, Source source);
  /// The same, where `element` is the only element that will be asked for.
  void bind(mlir::Value tensor, mlir::Value element);

  /// The element of `tensor` in each lane: a scalar or a vector.
  mlir::Value pull(mlir::Value tensor, llvm::ArrayRef<LaneIndex> index);
  /// The same, always with all lanes.
  mlir::Value emit(mlir::Value tensor, llvm::ArrayRef<LaneIndex> index) {
    return spread(pull(tensor, index));
  }
  /// A vector of all lanes from a scalar; a vector stays.
  mlir::Value spread(mlir::Value element);
  /// A scalar or splat constant of an element type.
  mlir::Value constant(mlir::TypedAttr value);

  /// Where an element of operand `i` of the kernel (results follow the arguments), a tensor of `type`, lies among
  /// what is held of it.
  LaneIndex addressOf(unsigned i, mlir::RankedTensorType type, llvm::ArrayRef<LaneIndex> index);

  /// Loads elements of a rank-1 memref of storageType(element) at `address`.
  mlir::Value load(mlir::Value memref, const LaneIndex &address, mlir::Type element);
  /// Stores them. No two active lanes may lie at one place, unless all do.
  void store(mlir::Value element, mlir::Value memref, const LaneIndex &address);
  /// Elements of result `i` of the kernel, as they were stored.
  mlir::Value loadResult(unsigned i, llvm::ArrayRef<LaneIndex> index);
  /// Stores elements of result `i` of the kernel.
  void storeResult(unsigned i, llvm::ArrayRef<LaneIndex> index, mlir::Value element);

  /// Emits one of two blocks of code, each with an emitter of its own. Both give an element,
  /// a scalar where `uniform`.
  using Branch = llvm::function_ref<mlir::Value(ElementEmitter &emitter)>;
  mlir::Value branch(mlir::Value condition, mlir::Type element, bool uniform, Branch then,
                     Branch otherwise);

  /// An index of user data along a dimension of `size` elements: counts from the end where
  /// negative, is clamped, and reports a fault where an active lane was outside.
  LaneIndex checkedIndex(mlir::Value index, int64_t size);

  /// How many branch() calls on lanes are open around this emitter.
  unsigned depth() const { return depth_; }

private:
  mlir::Value compute(mlir::Value tensor, llvm::ArrayRef<LaneIndex> index);
  mlir::Value cloneElementwise(mlir::Operation *op, llvm::ArrayRef<LaneIndex> index);
  const Source *source(mlir::Value tensor) const;
  struct Computed {
    ElementIndex index;
    mlir::Value element;
  };

  KernelBuilder &kernel_;
  IndexMath indices_;
  ElementEmitter *outer_ = nullptr;
  unsigned depth_ = 0;
  llvm::DenseMap<mlir::Value, Source> sources_;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Computed, 1>> computed_;
  llvm::DenseMap<mlir::Value, mlir::Value> spread_;
};

/// Diagnoses operations of the body whose elements cannot be pulled, but `anchor`.
mlir::LogicalResult verifyElements(nn::KernelOp kernel, mlir::Operation *anchor = nullptr);

} // namespace spillway::kernels
