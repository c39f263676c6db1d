// Collectives between the ranks of a job. Shaped for NCCL and MPI: every rank
// calls the same collectives in the same order.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/Device.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace spillway {

/// Of a job, at most.
inline constexpr uint32_t maxRanks = 1 << 16;

class Communicator {
public:
  virtual ~Communicator() = default;

  virtual uint32_t rank() const = 0;
  virtual uint32_t size() const = 0;

  /// Places `bytes` from each rank's `source` at `target + r * bytes` of every
  /// rank, r being the rank they come from. `source` may be the own place in
  /// `target`. A rank that does not come within the timeout is a machine error with its
  /// number; one that has aborted gives its error, with its number before it.
  virtual Status allGather(DeviceStream &stream, const std::byte *source, std::byte *target,
                           uint64_t bytes) = 0;

  /// Ends the collectives that other ranks wait in, and all later ones, with `cause`: what
  /// ended this rank. The first abort of a world counts. Any thread may call it.
  virtual void abort(const Error &cause) = 0;
};

/// A world of one rank.
std::unique_ptr<Communicator> createSelfCommunicator();

/// `size` ranks in one process, each used by a thread of its own.
std::vector<std::unique_ptr<Communicator>>
createInProcessCommunicators(uint32_t size,
                             std::chrono::milliseconds timeout = std::chrono::seconds(30));

} // namespace spillway
