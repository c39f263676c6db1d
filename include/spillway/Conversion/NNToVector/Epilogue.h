// What a kernel computes after the operation that its schedule is for.
#pragma once

#include "spillway/Conversion/NNToVector/ElementEmitter.h"

namespace spillway::kernels {

/// Whether vectors of 16 elements along the last dimension stay so in a reshape or transposition.
bool keepsVectors(mlir::Operation *movement);

/// The operations that follow from an anchor (a product, an attention, a reduction, a
/// scan). Each is elementwise, adds rows to it, or is a reshape or a transposition, so one element of the anchor
/// gives one element of each, at a position that follows from the anchor's alone.
class Epilogue {
public:
  /// Follows the users of `anchor`, and their users, as far as `inside` holds. Fails at an
  /// operation that needs other elements of the anchor than the one at its own
  /// position: calls `refuse` with it.
  static mlir::FailureOr<Epilogue>
  follow(mlir::Operation *anchor, llvm::function_ref<bool(mlir::Operation *)> inside,
         llvm::function_ref<void(mlir::Operation *)> refuse = [](mlir::Operation *) {});

  /// The epilogue of `anchor` in its kernel, all of whose results must follow from it;
  /// diagnoses one that is none.
  static mlir::FailureOr<Epilogue> ofKernel(nn::KernelOp kernel, mlir::Operation *anchor);

  /// Where in result `i` of the kernel what follows from the anchor's element at `index` lies.
  ElementIndex positionIn(unsigned i, ElementEmitter &emitter, llvm::ArrayRef<LaneIndex> index) const;
  /// Stores the element of every result of the kernel that follows from the anchor's
  /// `element` at `index` (a scalar, or one per lane). Pulls what else they need from `emitter`.
  void store(ElementEmitter &emitter, mlir::Value element, llvm::ArrayRef<LaneIndex> index) const;

  /// Whether vectors along the anchor's last dimension stay so in all that follows.
  bool keepsVectors() const;
  /// The dimension of a tensor that follows along which the anchor's last one lies; none where a
  /// reshape cuts it, or where the tensor does not follow.
  std::optional<int64_t> lanesIn(mlir::Value value) const;

private:
  /// The reshapes and transpositions on the way from the anchor to a tensor.
  using Path = llvm::SmallVector<mlir::Operation *, 2>;

  static bool agree(const Path &lhs, const Path &rhs);
  static ElementIndex positionOf(const Path &path, IndexMath &math,
                                 llvm::ArrayRef<LaneIndex> index);

  explicit Epilogue(mlir::Operation *anchor) : anchor_(anchor) {}

  mlir::Operation *anchor_;
  llvm::DenseMap<mlir::Value, Path> paths_;
};

} // namespace spillway::kernels
