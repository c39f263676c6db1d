// Convolutions of any element type.
#pragma once

#include "spillway/Conversion/OnnxToNN/Node.h"

namespace spillway {

/// The convolution of two tensors of one element type that the node's attributes describe. An error
/// of the node where they do not fit.
mlir::FailureOr<Tensor> convolution(Node &node, Tensor image, Tensor filter);
/// `y` [batch, channels, ...] and the bias per channel at an input, where it is given.
mlir::FailureOr<Tensor> withBias(Node &node, Tensor y, unsigned input);

} // namespace spillway
