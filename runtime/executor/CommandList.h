// A list of commands made ready to run, and the state of its run. Internal to the
// executor.
#pragma once

#include "runtime/comm/Communicator.h"
#include "runtime/device/Event.h"
#include "runtime/device/KernelAbi.h"
#include "runtime/executor/Program.h"
#include "runtime/executor/Recorder.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace spillway {

/// Addresses of the arenas, by tier.
using ArenaAddresses = std::array<std::byte *, tierCount>;

inline std::byte *addressOf(const ArenaAddresses &arenas, const Slice &slice) {
  return arenas[static_cast<size_t>(slice.tier)] + slice.offset;
}

/// Room for the indices of a lookup.
struct LookupRoom {
  std::vector<int64_t> rows;
  /// Of a lookup from a file: positions in the indices, ordered by row.
  std::vector<uint32_t> order;
  /// Parts of its staging that hold nothing.
  std::vector<uint32_t> freeSlots;
  /// From this place in `order` on no piece has been requested.
  uint32_t next = 0;
};

/// The prologue, the step or the checkpoint, with everything that its runs need allocated.
class CommandList {
public:
  CommandList(std::span<const Command> commands, const ArenaAddresses &arenas);

  size_t size() const { return commands_.size(); }
  const Command &operator[](uint32_t index) const { return commands_[index]; }
  std::span<const Command> commands() const { return commands_; }
  /// The commands of a stream, ascending.
  std::span<const uint32_t> order(StreamKind stream) const {
    return order_[static_cast<size_t>(stream)];
  }
  Event &event(uint32_t index) { return events_[index]; }
  /// What a command waits for that the step before has carried; null where there was none.
  Event *carriedEvent(uint32_t index) { return previous_ ? &previous_->event(index) : nullptr; }
  CommandTimes &times(uint32_t index) { return times_[index]; }
  std::span<const CommandTimes> times() const { return times_; }
  /// Of a launch: its operands as addresses, and its fault word.
  std::span<const KernelArgument> arguments(uint32_t index) const {
    return std::span(arguments_)
        .subspan(firstArgument_[index], firstArgument_[index + 1] - firstArgument_[index]);
  }
  std::byte *address(const Slice &slice) const { return addressOf(arenas_, slice); }
  int32_t &fault(uint32_t index) { return faults_[index]; }
  /// Of a command that is read piece by piece, or written by several requests.
  uint32_t &piecesInFlight(uint32_t index) { return piecesInFlight_[index]; }
  /// Of a lookup.
  LookupRoom &lookupRoom(uint32_t index) { return *lookupRooms_[index]; }

  /// Makes all commands pending and their faults none. Behind `previous`, which outlives the run: the list of the step
  /// before, where commands of it go on.
  void reset(CommandList *previous);
  /// Ends every wait for a command of the list.
  void failEvents();

private:
  std::span<const Command> commands_;
  CommandList *previous_ = nullptr;
  ArenaAddresses arenas_;
  std::array<std::vector<uint32_t>, streamCount> order_;
  std::unique_ptr<Event[]> events_;
  std::vector<CommandTimes> times_;
  std::vector<KernelArgument> arguments_;
  std::vector<uint32_t> firstArgument_;
  std::vector<int32_t> faults_;
  std::vector<uint32_t> piecesInFlight_;
  std::vector<std::unique_ptr<LookupRoom>> lookupRooms_;
};

/// The first error of a run, and the news of it to all streams.
class RunState {
public:
  /// `communicator` is aborted by an error, so that no other rank waits for this.
  explicit RunState(Communicator &communicator) : communicator_(communicator) {}

  void start(CommandList &list);
  /// From now on, what fails this fails `next` too; at once where it has failed already.
  void precede(RunState &next);
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  /// Keeps the error if it is the first, and ends every wait. Any thread. `isNotFinite` where values are no finite
  /// numbers.
  void fail(Error error, bool isNotFinite = false);
  /// After all streams have ended.
  Status status() const;
  bool endedByNotFinite() const;

private:
  Communicator &communicator_;
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::optional<Error> error_;
  bool isNotFinite_ = false;
  CommandList *list_ = nullptr;
  RunState *next_ = nullptr;
};

} // namespace spillway
