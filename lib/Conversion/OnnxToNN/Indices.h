// Indices that nodes pick or write elements by.
#pragma once

#include "spillway/Conversion/OnnxToNN/Node.h"

namespace spillway {

/// Indices must be i64 or i32.
mlir::LogicalResult checkIndexType(Node &node, Tensor indices);

/// Indices that are known, counted from zero; an error for one that lies outside. One after the other belongs to
/// each of the dimensions of these sizes in turn.
mlir::FailureOr<std::optional<llvm::SmallVector<int64_t>>>
knownIndices(Node &node, Tensor indices, llvm::ArrayRef<int64_t> sizes);

/// Integers that must lie in [low, high]: an error for one that is known and does not; what a step gives beyond is a fault
/// of it. `what` they are called: "sequence_lens".
mlir::FailureOr<Tensor> within(Node &node, Tensor integers, int64_t low, int64_t high, llvm::StringRef what);

} // namespace spillway
