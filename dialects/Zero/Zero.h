// The zero dialect: where states live and how they move. See ZeroDialect.td.
#pragma once

#include "dialects/NN/NN.h"

#include "dialects/Zero/ZeroDialect.h.inc"
#include "dialects/Zero/ZeroEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Zero/ZeroAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Zero/ZeroTypes.h.inc"

namespace spillway::zero {

struct StateStore : public mlir::SideEffects::Resource::Base<StateStore> {
  llvm::StringRef getName() final { return "spillway.states"; }
};
struct HandleStore : public mlir::SideEffects::Resource::Base<HandleStore> {
  llvm::StringRef getName() final { return "spillway.handles"; }
};

} // namespace spillway::zero

#define GET_OP_CLASSES
#include "dialects/Zero/ZeroOps.h.inc"

namespace spillway::zero {

/// An array of ArenaAttr on a module (see there).
inline constexpr llvm::StringLiteral arenasAttrName = "zero.arenas";
/// What zero-plan leaves on a module, a dictionary: `minimum` and `floor` (bytes), `floor_at` (the
/// operation that sets it), `seconds` (predicted for a step).
inline constexpr llvm::StringLiteral planAttrName = "zero.plan";
/// What zero-activations leaves on a module, a dictionary: which `segments` of the forward half are to be computed
/// again, `joined` at once, which `share` of the other values, in eighths, is to wait on the drive, with which `lead`; where
/// it had a choice, the smallest `minimum` of all choices (bytes).
inline constexpr llvm::StringLiteral activationsAttrName = "zero.activations";
/// What zero-recompute leaves on a module, a dictionary: `segments` of the forward half that are computed again,
/// `joined` at once, of how many (`of`).
inline constexpr llvm::StringLiteral recomputedAttrName = "zero.recomputed";
/// What zero-offload leaves on a module, a dictionary: how many `values` wait on the drive, and their `bytes`.
inline constexpr llvm::StringLiteral offloadedAttrName = "zero.offloaded";

/// The uses, look-ups and updates of each state of a module, by its symbol, in their order.
llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<mlir::Operation *>> usersOfStates(mlir::ModuleOp module);

/// What reads a value, as it is or as another shape or part of it, in no order.
llvm::SmallVector<mlir::Operation *> readersOf(mlir::Value value);

/// Checks for kernel form, before tiling, that each new value of a state is what a call computes into a use of it, that
/// what a call computes into states updates them, and that nothing takes the old value of a state after that
/// call. Reports every violation.
mlir::LogicalResult verifyUpdates(mlir::FunctionOpInterface function);

/// The fetch that brought what a handle holds, through moves and gathers; null where it is not in sight.
FetchOp fetchOf(mlir::Value handle);

/// Checks the discipline of the scheduled form in one function: every handle is
/// released exactly once, in its block, after every use of every view of it, and
/// nothing is viewed or moved after its release. Reports every violation.
mlir::LogicalResult verifyHandles(mlir::FunctionOpInterface function);

} // namespace spillway::zero
