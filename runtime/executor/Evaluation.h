// What a step computes an output with.
#pragma once

#include "runtime/executor/Program.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace spillway {

/// The commands of a program's step that what lies in `output` at its end depends on, in their
/// order: running them computes it alone, and gives no state another value. What orders them in the
/// step still does, also through commands that are left out.
std::vector<Command> commandsFor(const Program &program, const Slice &output);

/// The last command of the step that writes there.
std::optional<uint32_t> lastWriter(const Program &program, const Slice &output);

} // namespace spillway
