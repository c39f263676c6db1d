// Reverse-mode differentiation of straight-line code on tensors.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/DenseSet.h"

namespace spillway {

/// The cotangents (derivatives of the loss with respect to values) of one block while they are
/// built. Operations of the backward half go in front of the block's terminator.
class Cotangents {
public:
  /// `active` are the values that depend on what is differentiated for and that the loss depends on. `stored`: see
  /// `differentiate`.
  Cotangents(mlir::OpBuilder &builder, const llvm::DenseSet<mlir::Value> &active, mlir::FloatType stored)
      : builder_(builder), active(active), stored_(stored) {}

  /// What values may be rounded to between the kernel that computes them and one that takes them; null: they are not.
  /// A rule that asks whether two values are equal must round both.
  mlir::FloatType stored() const { return stored_; }
  /// Where rules build.
  mlir::OpBuilder &builder() { return builder_; }
  /// Whether a cotangent of `value` is asked for.
  bool needs(mlir::Value value) const { return active.contains(value); }
  /// The cotangent of a result, of its type; null where it is zero.
  mlir::Value of(mlir::Value value) const { return cotangents.lookup(value); }
  /// Adds to the cotangent of `value`, which has the type of `cotangent`; nothing where none is asked
  /// for. Sums are taken in the order of the calls.
  void add(mlir::Value value, mlir::Value cotangent);
  /// Reports that an operation has no derivative in this form.
  void reject(mlir::Operation *op, const llvm::Twine &reason);
  bool hasRejected() const { return rejected; }

private:
  mlir::OpBuilder &builder_;
  const llvm::DenseSet<mlir::Value> &active;
  mlir::FloatType stored_;
  llvm::DenseMap<mlir::Value, mlir::Value> cotangents;
  bool rejected = false;
};

/// Builds the cotangents of `roots`, whose operations lie in the block of the operation of `loss` or
/// which are its arguments, in front of the block's terminator. `loss` is a tensor of one float. A root that
/// it does not depend on gets a null. `stored`, where given, is what values of the step may be stored as later. Fails, with a diagnostic, at each operation between roots and loss that
/// is not differentiable.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> differentiate(mlir::Value loss,
                                                              mlir::ValueRange roots, mlir::FloatType stored = {});

/// Gives the operations of nn, arith and math their rules.
void registerDerivatives(mlir::DialectRegistry &registry);

} // namespace spillway

#include "spillway/Differentiate/Interfaces.h.inc"
