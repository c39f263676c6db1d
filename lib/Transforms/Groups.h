// What may be computed where it is read, in one kernel with its reader.
#pragma once

#include "dialects/NN/NN.h"
#include "dialects/Zero/Zero.h"

namespace spillway {

/// What places in a tensor between kernels are multiples of, in bytes.
inline constexpr int64_t viewAlignment = 8;

bool isAnchor(mlir::Operation *op);

bool isSplat(mlir::Operation *op);

/// Operations that stay in the function: they give bytes that are there already.
bool isSource(mlir::Operation *op);

/// Whether it costs less to compute an element again than to store it and load it again.
bool isCheap(mlir::Operation *op);

/// The update that alone takes a value, element by element; null where something else reads it.
zero::UpdateOp soleUpdateOf(mlir::Value value);

/// Whether `op` computes a weight's numbers from half as many bytes or less, cheaply: a product
/// then reads these bytes, and the numbers are never stored.
bool isUnpackedWeight(mlir::Operation *op);

} // namespace spillway
