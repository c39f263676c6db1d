// Which elements of what a product's right operand is computed from belong to which of its columns.
#pragma once

#include "dialects/NN/NN.h"

#include "llvm/ADT/MapVector.h"

#include <optional>

namespace spillway::kernels {

/// Element i of a tensor, in row-major order, is read for column i / inner % count alone. Where several
/// numbers lie in a byte, such a column stands for `perElement` of the product's.
struct ColumnRun {
  int64_t count = 0;
  int64_t inner = 0;
  int64_t perElement = 1;

  bool operator==(const ColumnRun &) const = default;
};

/// The tensors that the right operand of `matmul` is computed from (arguments, weights, constants), with its
/// columns in them; null where an element may be read for several, or by something else.
using ColumnRuns = llvm::MapVector<mlir::Value, std::optional<ColumnRun>>;
ColumnRuns columnRuns(nn::MatmulOp matmul);

/// How a tensor is stored so that each unit of a product, a panel of its columns, reads elements of its own, one
/// after the other.
struct ColumnUnits {
  /// Null: in row-major order, so many rows a unit.
  nn::PanelsAttr panels;
  int64_t rows = 0;
};

/// Null where the columns divide the tensor otherwise.
std::optional<ColumnUnits> columnUnits(const ColumnRun &run, mlir::RankedTensorType type);

/// Whether units of a product read elements of their own of a tensor that is stored in `panels`.
bool areUnits(nn::PanelsAttr panels, const ColumnRun &run, mlir::RankedTensorType type);

} // namespace spillway::kernels
