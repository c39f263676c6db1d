// The reference interpreter: what the operations of a program mean, computed in
// the plainest way. It is the oracle of every lowering and folds constants.
//
// What it promises about numbers (kernels are held to the same):
// - Bit-exact: movement, integers, comparisons, casts; + - * / sqrt, fma, rounding
//   functions, computed in f32 (f64 for f64) and rounded once to the element type;
//   nn.matmul (one chain of fused multiply-adds in ascending k, but for two operands of bf16 where kernels are compiled
//   for AVX512-BF16: those go by pairs of k and take denormals for zero); nn.reduce sum,
//   mean, prod, max, min, sum_square, l1, l2, the norms and nn.cumsum, in the order the
//   operation states (16 virtual lanes and a tree of halves along the last
//   dimension, in chunks of 4096 over whole tensors, ascending otherwise). Integer division by zero gives zero, quotient and
//   remainder; conversions to integers saturate, and a NaN gives zero.
// - Within a tolerance: elementary functions (here correctly rounded but for about
//   one case in 10^8; kernels: 2 ulp of f32) and what is made of them: softmax,
//   log_softmax, attention, log_sum, log_sum_exp.
// NaNs are equal to each other: payloads and signs of NaNs are not part of the contract.
#pragma once

#include "spillway/Interpreter/TensorValue.h"

#include "dialects/Zero/Zero.h"

#include <string>

namespace spillway {

/// Computes one operation of nn, arith or math on tensors. `operands` have the types
/// of the operation's operands. Fails, without a diagnostic, with `reason` set where
/// the operation is none of those or its result is not defined by them: an index out
/// of range, a shift by more than the integers hold.
mlir::LogicalResult evaluate(mlir::Operation *op, llvm::ArrayRef<TensorValue> operands,
                             llvm::SmallVectorImpl<TensorValue> &results, std::string &reason);

/// Gives the value of a whole state, in row-major order. Emits its own diagnostics.
using StateProvider = llvm::function_ref<mlir::FailureOr<TensorValue>(zero::StateOp)>;

/// Takes the new value of a state.
using StateConsumer = llvm::function_ref<void(zero::StateOp, TensorValue)>;

/// Runs a func.func or nn.kernel of one block: operations that `evaluate` knows,
/// nn.call of whole kernels, zero.use, zero.lookup and, where `update` is given, zero.update. Values are freed
/// after their last use; a state is asked for at each use. Failures are reported at the operation.
mlir::LogicalResult evaluateFunction(mlir::FunctionOpInterface function,
                                     llvm::ArrayRef<TensorValue> inputs, StateProvider states,
                                     llvm::SmallVectorImpl<TensorValue> &results,
                                     StateConsumer update = nullptr);

/// Reads the whole value of a state from its StateSource.
mlir::FailureOr<TensorValue> readState(zero::StateOp state, llvm::StringRef folder);

} // namespace spillway
