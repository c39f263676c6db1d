// What a step computes and keeps for a while: when it lives and where it lies.
#pragma once

#include "dialects/NN/Views.h"
#include "dialects/Zero/Zero.h"
#include "spillway/Plan/IntervalLayout.h"
#include "spillway/Plan/SharedRoom.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace spillway::plan {

/// The name that a location gives, empty where it gives none.
llvm::StringRef nameOf(mlir::Location location);

using nn::offsetInSource;
using nn::sourceOf;

/// Arguments, results, scratch and look-up staging of a function in kernel form,
/// unscheduled or scheduled, and what of it waits on the drive. Moments are the calls and look-ups in order.
class Activations {
public:
  /// `threads` run a kernel, each with scratch of its own. Look-ups get as much
  /// staging as costs no memory. Diagnoses what is not in kernel form.
  static mlir::FailureOr<Activations> of(mlir::func::FuncOp function, int64_t threads);

  /// Index into intervals(). The value must not be a state's.
  uint32_t indexOf(mlir::Value value) const {
    return values_.find(sourceOf(value))->second;
  }
  std::optional<uint32_t> scratchOf(mlir::Operation *call) const { return find(scratch_, call); }
  std::optional<uint32_t> stagingOf(mlir::Operation *lookup) const { return find(staging_, lookup); }

  const std::vector<Interval> &intervals() const { return intervals_; }
  const IntervalLayout &layout() const { return layout_; }
  /// What of the layout is free at each moment.
  const SharedRoom &room() const { return room_; }
  /// Of a call or look-up. Calls that compute one call's units in turn are one moment.
  int64_t momentOf(mlir::Operation *op) const { return moments_.lookup(op); }
  bool endsMoment(mlir::Operation *op) const { return lastOfMoment_[static_cast<size_t>(momentOf(op))] == op; }

  /// Where an offloaded value lies in the scratch file, whose bytes are whole blocks.
  uint64_t driveOffsetOf(zero::OffloadOp offload) const {
    return driveLayout_.offsets[onDrive_.find(offload)->second];
  }
  uint64_t driveBytes() const { return driveLayout_.bytes; }

private:
  static std::optional<uint32_t> find(const llvm::DenseMap<mlir::Operation *, uint32_t> &map,
                                      mlir::Operation *op) {
    auto it = map.find(op);
    return it == map.end() ? std::nullopt : std::optional(it->second);
  }
  class Builder;

  llvm::DenseMap<mlir::Value, uint32_t> values_;
  llvm::DenseMap<mlir::Operation *, uint32_t> scratch_, staging_;
  std::vector<Interval> intervals_;
  IntervalLayout layout_;
  SharedRoom room_;
  llvm::DenseMap<mlir::Operation *, int64_t> moments_;
  std::vector<mlir::Operation *> lastOfMoment_;
  /// Of offloaded values.
  llvm::DenseMap<mlir::Operation *, uint32_t> onDrive_;
  std::vector<Interval> driveIntervals_;
  IntervalLayout driveLayout_;
};

/// A kernel's scratch, rounded up so that the next thread's is aligned.
uint64_t scratchPerThread(nn::KernelOp kernel);

/// Whether a call computes over states.
bool rewritesStates(nn::CallOp call);

/// Bytes of the state file that a look-up reads for one index: the smallest piece that can be
/// read alone.
uint64_t lookupPieceBytes(zero::StateOp state);

} // namespace spillway::plan
