// What a compiled step and its trainer call the same.
#pragma once

#include <string_view>

namespace spillway {

/// Inputs that a trainer sets: scalars of f64.
inline constexpr std::string_view rateInput = "lr", stepInput = "step";
/// Another one where the step computes in f16: what the loss is multiplied by, so that small gradients are not lost.
inline constexpr std::string_view lossScaleInput = "loss_scale";
/// Another one, a boolean: whether a step trains.
inline constexpr std::string_view trainingInput = "training";
/// And a vector of i64: a key for each place of the step that takes random numbers.
inline constexpr std::string_view randomInput = "random";
/// An output that it reports, besides the first one, which is the loss: scalars of f32.
inline constexpr std::string_view gradientNormOutput = "grad_norm";
/// And a boolean: whether gradients were not finite, so that the step has changed no parameter.
inline constexpr std::string_view overflowOutput = "overflow";

} // namespace spillway
