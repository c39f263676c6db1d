// Activation functions of floats; f16 and bf16 are computed in f32 and rounded once.
#pragma once

#include "spillway/Conversion/OnnxToNN/Emitter.h"

namespace spillway {

/// log(1 + exp(x)) without overflow.
Tensor softplus(Emitter &emit, Tensor x);
/// x / (1 + |x|).
Tensor softsign(Emitter &emit, Tensor x);
/// min(1, max(0, alpha * x + beta)).
Tensor hardSigmoid(Emitter &emit, Tensor x, double alpha, double beta);
/// x, or alpha * x below zero.
Tensor leakyRelu(Emitter &emit, Tensor x, double alpha);
/// x, or alpha * (exp(x) - 1) up to zero.
Tensor elu(Emitter &emit, Tensor x, double alpha);
/// x above alpha, else zero.
Tensor thresholdedRelu(Emitter &emit, Tensor x, double alpha);

} // namespace spillway
