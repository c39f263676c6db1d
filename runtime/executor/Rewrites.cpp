#include "runtime/executor/Rewrites.h"
#include "runtime/table/table_generated.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace spillway {

namespace {
using Commands = flatbuffers::Vector<flatbuffers::Offset<table::Command>>;

bool isReadFromFile(const table::Command &command) {
  const table::Lookup *lookup = command.operation_as_Lookup();
  return command.operation_as_Read() || (lookup && !lookup->resident());
}

/// The chunks of rewritten states that the commands of a list write and read.
class Accesses {
public:
  Accesses(const Store &store, uint32_t ranks) : states_(store.states()), ranks_(ranks) {
    for (const StateView &state : states_)
      written_.emplace_back(state.isRewritten() ? state.checksums.size() : 0);
    read_ = written_;
  }

  Status add(const Commands &commands, std::string_view list) {
    for (uint32_t index = 0; index < commands.size(); ++index)
      if (Status status = add(*commands[index]); !status.ok())
        return std::move(status).error().in(fmt::format("command {} of the {}", index, list));
    return {};
  }

  bool writesAnything() const { return writesAnything_; }
  bool isWritten(size_t state, size_t chunk) const { return written_[state][chunk]; }
  bool isRead(size_t state, size_t chunk) const { return read_[state][chunk]; }

private:
  Status add(const table::Command &command) {
    if (const table::Write *write = command.operation_as_Write()) {
      writesAnything_ = true;
      return forEachChunk(*write, [&](size_t chunk) { return noteWrite(write->state(), chunk); });
    }
    if (const table::Read *read = command.operation_as_Read())
      return forEachChunk(*read, [&](size_t chunk) { return noteRead(read->state(), chunk); });
    if (isReadFromFile(command)) {
      uint32_t state = command.operation_as_Lookup()->state();
      for (size_t chunk = 0; chunk < read_[state].size(); ++chunk)
        SPILLWAY_RETURN_IF_ERROR(noteRead(state, chunk));
    }
    return {};
  }

  /// Of every rank's part of a Read or Write.
  template <typename Transfer, typename Body>
  Status forEachChunk(const Transfer &transfer, Body &&body) const {
    const StateView &state = states_[transfer.state()];
    if (!state.isRewritten())
      return {};
    uint64_t extent = roundUpToBlock(state.type.storedBytes());
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      uint64_t begin = transfer.offset() + rank * transfer.rank_stride();
      if (begin >= extent)
        break;
      uint64_t end = std::min(begin + transfer.bytes(), extent);
      for (; begin < end; begin += state.chunkBytes)
        SPILLWAY_RETURN_IF_ERROR(body(begin / state.chunkBytes));
    }
    return {};
  }

  Status noteWrite(uint32_t state, size_t chunk) {
    if (written_[state][chunk])
      return machineError("it writes bytes of '{}' that were written before",
                          states_[state].type.name);
    written_[state][chunk] = true;
    return {};
  }

  Status noteRead(uint32_t state, size_t chunk) {
    if (written_[state][chunk])
      return machineError("it reads bytes of '{}' behind their write", states_[state].type.name);
    read_[state][chunk] = true;
    return {};
  }

  const std::vector<StateView> &states_;
  uint32_t ranks_;
  std::vector<std::vector<bool>> written_;
  std::vector<std::vector<bool>> read_;
  bool writesAnything_ = false;
};
} // namespace

Status checkRewrites(const table::Program &program, const Store &store) {
  Accesses step(store, program.ranks()), checkpoint(store, program.ranks());
  SPILLWAY_RETURN_IF_ERROR(step.add(*program.step(), "step"));
  SPILLWAY_RETURN_IF_ERROR(checkpoint.add(*program.checkpoint(), "checkpoint"));
  if (!step.writesAnything() && !checkpoint.writesAnything())
    return {};
  for (size_t index = 0; index < store.states().size(); ++index) {
    const StateView &state = store.states()[index];
    for (size_t chunk = 0; state.isRewritten() && chunk < state.checksums.size(); ++chunk) {
      if (!step.isWritten(index, chunk) && !checkpoint.isWritten(index, chunk))
        return machineError("neither the step nor the checkpoint writes the bytes of '{}' from {} "
                            "on",
                            state.type.name, chunk * state.chunkBytes);
      if (step.isRead(index, chunk) && !step.isWritten(index, chunk))
        return machineError("the step reads the bytes of '{}' from {} on and does not write them",
                            state.type.name, chunk * state.chunkBytes);
    }
  }
  return {};
}

} // namespace spillway
