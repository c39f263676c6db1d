// Where states that steps rewrite are read and written. Internal to the executor.
#pragma once

#include "runtime/state/State.h"

#include <cstdint>

namespace spillway {

/// One slot of every rewritten state holds what was committed last; steps write the other one,
/// and read it once one of them has written it. Changes between lists only; where writes of a step go on, by
/// `noteStep` alone, which leaves alone where they go.
class Slots {
public:
  uint64_t readOffset(const StateView &state) const { return offset(state, reads_); }
  /// Of a rewritten state.
  uint64_t writeOffset(const StateView &state) const { return offset(state, writes_); }

  /// Whether a state is read where and as the store was opened; else this process wrote it.
  bool readsAsOpened(const StateView &state) const { return !hasStepped_ || !state.isRewritten(); }
  bool hasUncommitted() const { return reads_ == writes_; }

  void noteStep() {
    hasStepped_ = true;
    reads_ = writes_;
  }
  void noteCommit() { writes_ = 1 - reads_; }

private:
  /// Slot 0 is the one that was committed when the store was opened.
  static uint64_t offset(const StateView &state, unsigned slot) {
    return slot == 0 ? state.fileOffset : state.otherOffset.value_or(state.fileOffset);
  }

  unsigned reads_ = 0;
  unsigned writes_ = 1;
  bool hasStepped_ = false;
};

} // namespace spillway
