// Where one tensor is when, and why.
#pragma once

#include "spillway/Plan/Simulator.h"

#include <span>
#include <string>
#include <string_view>

namespace spillway::plan {

/// Text for people about a table that simulate() has run. `name` is that of a state, an input
/// or an output, or of the ONNX node that computes the tensor; `summary` is
/// plan::summarize's. A user error that names similar ones where there is none.
Result<std::string> explainTensor(std::string_view name, std::span<const uint8_t> table,
                                  const Simulation &simulation, std::string_view summary);

} // namespace spillway::plan
