// The families of operations. Operands have the types of the operation's operands;
// on failure `reason` says why there is no result.
#pragma once

#include "spillway/Interpreter/HostTensor.h"

#include "dialects/NN/NN.h"

#include <string>

namespace spillway {

mlir::FailureOr<HostTensor> evaluateMovement(mlir::Operation *op, llvm::ArrayRef<HostTensor> operands,
                                             std::string &reason);
HostTensor evaluateMatmul(nn::MatmulOp op, llvm::ArrayRef<HostTensor> operands);
HostTensor evaluateAttention(nn::AttentionOp op, llvm::ArrayRef<HostTensor> operands);
/// nn.reduce, softmax, log_softmax, layer_norm, rms_norm, cumsum.
HostTensor evaluateReduction(mlir::Operation *op, llvm::ArrayRef<HostTensor> operands);
/// Operations of arith and math; fails for those it does not know.
mlir::FailureOr<HostTensor> evaluateElementwise(mlir::Operation *op,
                                                llvm::ArrayRef<HostTensor> operands,
                                                std::string &reason);

/// What nn.gather means; fails where an index is out of range.
mlir::FailureOr<HostTensor> gather(const HostTensor &data, const HostTensor &indices, int64_t dim,
                                   mlir::RankedTensorType type, std::string &reason);

} // namespace spillway
