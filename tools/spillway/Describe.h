// A planned bundle as text and as JSON.
#pragma once

#include "tools/spillway/PlannedBundle.h"

#include <string>

namespace spillway {

/// What it is, what its memory holds, and what a step is predicted to take.
std::string describeBundle(const PlannedBundle &bundle);

/// Every state and its place, one a line.
std::string describeStates(const PlannedBundle &bundle);

/// The commands of prologue, step and checkpoint, one a line.
std::string describeTable(const PlannedBundle &bundle);

/// The figures of all three, and the plan's, for programs.
nlohmann::ordered_json bundleToJson(const PlannedBundle &bundle);

} // namespace spillway
