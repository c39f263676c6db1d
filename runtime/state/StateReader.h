// States back out of a store: for export, and to check what is stored.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/io/Engine.h"
#include "runtime/state/Store.h"

#include <cstddef>
#include <functional>
#include <span>

namespace spillway {

/// Takes the next bytes of a tensor.
using TensorSink = std::function<Status(std::span<const std::byte>)>;

/// Reads states with little memory: a few buffers of 8 MiB, or of the rows of a panel where these take more
/// (of one row where panels lie along columns). Each call opens and
/// closes the file; nothing else may be in flight in `engine`.
class StateReader {
public:
  StateReader(const Store &store, io::Engine &engine) : store_(store), engine_(engine) {}

  /// Compares every chunk with its checksum; nothing to do for linked states. A
  /// machine error names the first damaged bytes.
  Status verify(const StateView &state);

  /// Gives the logical tensor to `sink` in canonical order, without verifying it.
  Status readCanonical(const StateView &state, const TensorSink &sink);

private:
  const Store &store_;
  io::Engine &engine_;
};

} // namespace spillway
