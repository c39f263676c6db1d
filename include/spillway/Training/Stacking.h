// Operations that run for several micro-batches at once.
#pragma once

#include "lib/Differentiate/Rules/Rule.h"

#include "mlir/IR/DialectRegistry.h"

namespace spillway {

/// What a value of one micro-batch is for all of them: one that they share, or theirs along a new dimension 0.
struct Stacked {
  mlir::Value value;
  bool isShared = true;
};

/// Builds at an operation of one micro-batch.
class StackBuilder : public derivatives::RuleBuilder {
public:
  StackBuilder(mlir::OpBuilder &builder, mlir::Operation *op, int64_t count)
      : RuleBuilder(builder, op->getLoc()), builder(builder), count(count) {}

  /// The shape of a value of one micro-batch behind the dimension of micro-batches.
  llvm::SmallVector<int64_t> shape(mlir::Value value) const;
  mlir::RankedTensorType type(mlir::Value value) const;
  /// The value of each micro-batch, repeated where they share it.
  mlir::Value stacked(Stacked value);
  llvm::SmallVector<mlir::Value> stacked(llvm::ArrayRef<Stacked> values);
  /// Micro-batch `index` of it, which is its shared value where there is one.
  mlir::Value slice(Stacked value, int64_t index);
  /// The inverse of all slices.
  mlir::Value join(llvm::ArrayRef<mlir::Value> values);
  /// The operation on other operands, with stacked results.
  template <typename Op> Op clone(Op op, mlir::ValueRange operands) {
    return llvm::cast<Op>(cloneOperation(op, operands));
  }
  mlir::Operation *cloneOperation(mlir::Operation *op, mlir::ValueRange operands);
  /// The micro-batches as more of dimension 0, and back.
  mlir::Value mergeInBatch(mlir::Value stacked);
  mlir::Value splitBatch(mlir::Value merged);

private:
  mlir::OpBuilder &builder;
  int64_t count;
};

/// Gives the operations of nn and zero their rules.
void registerStackRules(mlir::DialectRegistry &registry);

} // namespace spillway

#include "spillway/Training/Interfaces.h.inc"
