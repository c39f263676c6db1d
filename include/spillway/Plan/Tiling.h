// Which states may be used tile by tile, and how large tiles are.
#pragma once

#include "dialects/Zero/Zero.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <string>

namespace spillway::plan {

/// What calls in a module's functions allow. Made before calls are split.
class Tileability {
public:
  explicit Tileability(mlir::ModuleOp module);

  /// Every use of its value is an argument or destination that a kernel marks tiled and whose
  /// panels are the kernel's units, or one whose panels are its depth. (Look-ups do not count.)
  bool isTileable(zero::StateOp state) const { return tileable_.lookup(state); }
  /// The state whose tiles may stand for an operand of a call; null where none.
  zero::StateOp tiledOperand(mlir::Value operand);
  /// The first tiled state of a call, null where none; diagnoses others of the
  /// call that are cut otherwise.
  mlir::FailureOr<zero::StateOp> tiledState(nn::CallOp call);
  /// Whether the tiles of a call's states are of its depth: all of them compute into the same results.
  bool isCutInDepth(nn::CallOp call);
  /// Stands for all states that one call takes by tiles together with this one,
  /// directly or over others: they must be cut alike.
  zero::StateOp groupOf(zero::StateOp state);
  /// All of them, `state` included.
  llvm::SmallVector<zero::StateOp> groupMembers(zero::StateOp state);

private:
  /// States that are updated together are cut together, or not at all.
  void restrictUpdates(mlir::ModuleOp module);

  mlir::SymbolTableCollection symbols_;
  llvm::DenseMap<mlir::Operation *, bool> tileable_;
  llvm::EquivalenceClasses<mlir::Operation *> groups_;
};

/// The units of the largest tile of at most `maxBytes` (at least one chunk a rank),
/// evened out so that tiles differ little.
int64_t tileUnitsFor(zero::StateOp state, uint64_t maxBytes);

/// Sets `tile` on tileable states by rules REGEX=UNITS over ONNX names (the whole name); the
/// first that matches counts, and tiles are rounded up to whole chunks of every rank. Diagnoses
/// malformed rules, and ones that no tileable state matches.
mlir::LogicalResult applyTileRules(mlir::ModuleOp module, Tileability &tileability,
                                   llvm::ArrayRef<std::string> rules);

} // namespace spillway::plan
