// Elements of any type as the numbers that they are computed with.
#pragma once

#include "spillway/Interpreter/TensorValue.h"

namespace spillway {

/// Elements of a float tensor, exact: `T` is float (not of f64) or double.
template <typename T> std::vector<T> loadFloats(const TensorValue &tensor);
/// Rounds once to the element type. `T` is float, double, or long double, which holds all integers.
template <typename T>
TensorValue storeFloats(mlir::RankedTensorType type, llvm::ArrayRef<T> values);

/// Elements of an integer tensor, sign-extended: a true i1 is -1, as in `arith`.
std::vector<int64_t> loadSigned(const TensorValue &tensor);
/// Zero-extended: a true i1 is 1.
std::vector<uint64_t> loadUnsigned(const TensorValue &tensor);
/// Keeps the low bits.
TensorValue storeIntegers(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> values);

} // namespace spillway
