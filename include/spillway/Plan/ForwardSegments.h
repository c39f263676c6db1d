// The forward half of a training step, cut where few bytes cross, and its values computed again.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

#include <cstdint>
#include <vector>

namespace spillway::plan {

/// The calls and look-ups of a function in kernel form up to the one that gives the loss (its first
/// result), in segments: what crosses from one to the next is small beside what the
/// backward half takes of it. A function that updates no state has none.
class ForwardSegments {
public:
  explicit ForwardSegments(mlir::func::FuncOp function);

  size_t size() const { return begins_.size(); }

  /// Computes what the backward half takes of the first `count` segments again, each `joined` of them at
  /// once, right before it is first taken there; what crosses from one of these groups to the next is kept,
  /// and the calls between are made twice. A group of which some state is updated before stays as it is. May be called once.
  void recompute(size_t count, size_t joined);

private:
  /// What a call or look-up gives.
  struct Saved {
    uint64_t bytes = 0;
    /// Index of the operation, and of the last one of the forward half that takes it; of what is returned,
    /// behind all.
    size_t made = 0, lastForward = 0;
    /// Whether the backward half takes it.
    bool isTaken = false;
  };

  void collect();
  void cut();
  void recomputeRange(size_t begin, size_t end);
  std::vector<mlir::Operation *> slice(llvm::ArrayRef<mlir::Value> values, size_t begin) const;
  mlir::Operation *firstTaker(llvm::ArrayRef<mlir::Value> values) const;
  mlir::Operation *firstUpdate(llvm::ArrayRef<mlir::Operation *> readers) const;

  mlir::func::FuncOp function_;
  /// Calls and look-ups of the forward half, in order.
  std::vector<mlir::Operation *> operations_;
  llvm::DenseMap<mlir::Operation *, size_t> index_;
  llvm::MapVector<mlir::Value, Saved> values_;
  /// The call that gives each updated state its next value, by the state's symbol.
  llvm::DenseMap<mlir::Attribute, mlir::Operation *> updates_;
  /// First operation of each segment.
  std::vector<size_t> begins_;
};

} // namespace spillway::plan
