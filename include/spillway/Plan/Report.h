// A plan as a page: what runs when, what lies where, and what limits the step.
#pragma once

#include "spillway/Plan/Simulator.h"

#include <span>
#include <string>
#include <string_view>

namespace spillway::plan {

/// One self-contained HTML page for a table that simulate() has run. It bears the name of the file
/// `model`; `summary` is plan::summarize's.
std::string drawReport(std::string_view model, std::span<const uint8_t> table,
                       const Simulation &simulation, std::string_view summary);

} // namespace spillway::plan
