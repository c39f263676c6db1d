// Matrix products.
#pragma once

#include "spillway/Conversion/OnnxToNN/Node.h"

namespace spillway {

/// numpy's product of two tensors of one element type. An error of the node where they do not fit.
mlir::FailureOr<Tensor> matmul(Node &node, Tensor a, Tensor b);

} // namespace spillway
