// The families of operations. Operands have the types of the operation's operands;
// on failure `reason` says why there is no result.
#pragma once

#include "spillway/Interpreter/TensorValue.h"

#include "dialects/NN/NN.h"

#include <string>

namespace spillway {

mlir::FailureOr<TensorValue> evaluateMovement(mlir::Operation *op, llvm::ArrayRef<TensorValue> operands,
                                             std::string &reason);
TensorValue evaluateMatmul(nn::MatmulOp op, llvm::ArrayRef<TensorValue> operands);
TensorValue evaluateConv(nn::ConvOp op, llvm::ArrayRef<TensorValue> operands);
TensorValue evaluateAttention(nn::AttentionOp op, llvm::ArrayRef<TensorValue> operands);
TensorValue evaluateArgsort(nn::ArgsortOp op, llvm::ArrayRef<TensorValue> operands);
mlir::FailureOr<TensorValue> evaluateScatter(nn::ScatterOp op, llvm::ArrayRef<TensorValue> operands,
                                            std::string &reason);
mlir::FailureOr<TensorValue> evaluateAddRows(nn::AddRowsOp op, llvm::ArrayRef<TensorValue> operands, std::string &reason);
/// nn.reduce, softmax, log_softmax, layer_norm, rms_norm, cumsum.
TensorValue evaluateReduction(mlir::Operation *op, llvm::ArrayRef<TensorValue> operands);
/// Operations of arith and math; fails for those it does not know.
mlir::FailureOr<TensorValue> evaluateElementwise(mlir::Operation *op,
                                                llvm::ArrayRef<TensorValue> operands,
                                                std::string &reason);

/// What nn.gather means; fails where an index is out of range.
mlir::FailureOr<TensorValue> gather(const TensorValue &data, const TensorValue &indices, int64_t dim,
                                   mlir::RankedTensorType type, std::string &reason);

} // namespace spillway
