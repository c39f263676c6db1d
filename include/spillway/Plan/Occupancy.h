// What lies where in the arenas over a step, and which commands put it there.
#pragma once

#include "spillway/Plan/Simulator.h"

#include "runtime/table/table_generated.h"

#include <string>

namespace spillway::plan {

/// Bytes of an arena that hold one thing for a while.
struct Stay {
  enum class Kind : uint8_t {
    /// Of a state, brought in before the first step.
    resident,
    /// Of a state, for the calls of a step that take it.
    staged,
    input,
    computed,
    /// Scratch of a kernel, or what a look-up reads rows through.
    scratch,
  };

  Kind kind = Kind::computed;
  table::Slice place;
  /// Of the state or input; of what is computed and of scratch the ONNX node.
  std::string label;
  /// What is resident or staged: a state by its number, and the first byte of it.
  uint32_t state = 0;
  uint64_t stateOffset = 0;
  /// Seconds of the step, from the start of the first writer to the end of the last reader.
  SimulatedCommand time;
  /// Commands of the step, ascending. No writers of what is there when it starts.
  std::vector<uint32_t> writers, readers;
};

/// Of a table that simulate() has run.
std::vector<Stay> findStays(const table::Program &program, const Simulation &simulation);

/// What the command does, in one word.
std::string kindOf(const table::Command &command);

/// The command's label, or what it does where it has none.
std::string labelOf(const table::Command &command);

} // namespace spillway::plan
