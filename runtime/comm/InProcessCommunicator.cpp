#include "runtime/comm/Communicator.h"

#include <condition_variable>
#include <mutex>
#include <optional>

namespace spillway {

namespace {
/// What the ranks share: the sources of the collective in progress, and a barrier
/// that knows who has come.
class World {
public:
  World(uint32_t size, std::chrono::milliseconds timeout)
      : timeout_(timeout), sources_(size), arrivals_(size) {}

  uint32_t size() const { return static_cast<uint32_t>(sources_.size()); }
  void offer(uint32_t rank, const std::byte *source) { sources_[rank] = source; }
  const std::byte *source(uint32_t rank) const { return sources_[rank]; }

  /// Returns when every rank has offered its source: it may be copied until finish().
  Status begin(uint32_t rank) {
    std::unique_lock lock(mutex_);
    SPILLWAY_RETURN_IF_ERROR(meet(rank, lock));
    ++copying_;
    return {};
  }

  /// Returns when no rank copies any more.
  Status finish(uint32_t rank) {
    std::unique_lock lock(mutex_);
    --copying_;
    return meet(rank, lock);
  }

  void abort(uint32_t rank, const Error &cause) {
    std::lock_guard lock(mutex_);
    if (!cause_)
      end(Error(cause).in(fmt::format("rank {}", rank)));
  }

private:
  /// Returns when every rank has come as often as this one.
  Status meet(uint32_t rank, std::unique_lock<std::mutex> &lock) {
    uint64_t round = ++arrivals_[rank];
    changed_.notify_all();
    auto allCame = [&] { return findMissing(round) == size(); };
    if (!changed_.wait_for(lock, timeout_, [&] { return cause_ || allCame(); }))
      end(machineError("rank {} did not come to a collective within {} ms", findMissing(round),
                       timeout_.count()));
    if (!cause_)
      return {};
    // Who fails frees its memory, which others may still be copying.
    changed_.wait(lock, [&] { return copying_ == 0; });
    return *cause_;
  }

  void end(Error cause) {
    cause_ = std::move(cause);
    changed_.notify_all();
  }

  /// The first rank that has come fewer than `round` times, or size().
  uint32_t findMissing(uint64_t round) const {
    uint32_t rank = 0;
    while (rank < size() && arrivals_[rank] >= round)
      ++rank;
    return rank;
  }

  std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<const std::byte *> sources_;
  std::vector<uint64_t> arrivals_;
  /// Ranks between begin() and finish().
  uint32_t copying_ = 0;
  /// What ended the world.
  std::optional<Error> cause_;
};

class InProcessCommunicator final : public Communicator {
public:
  InProcessCommunicator(std::shared_ptr<World> world, uint32_t rank)
      : world_(std::move(world)), rank_(rank) {}

  uint32_t rank() const override { return rank_; }
  uint32_t size() const override { return world_->size(); }

  Status allGather(DeviceStream &stream, const std::byte *source, std::byte *target,
                   uint64_t bytes) override {
    world_->offer(rank_, source);
    SPILLWAY_RETURN_IF_ERROR(stream.synchronize());
    SPILLWAY_RETURN_IF_ERROR(world_->begin(rank_));
    Status copied = copyAll(stream, target, bytes);
    // No one may change its source before all have read it.
    Status finished = world_->finish(rank_);
    return copied.ok() ? finished : copied;
  }

  void abort(const Error &cause) override { world_->abort(rank_, cause); }

private:
  Status copyAll(DeviceStream &stream, std::byte *target, uint64_t bytes) {
    for (uint32_t other = 0; other < size(); ++other)
      if (world_->source(other) != target + other * bytes)
        SPILLWAY_RETURN_IF_ERROR(stream.copy(target + other * bytes, world_->source(other), bytes));
    return stream.synchronize();
  }

  std::shared_ptr<World> world_;
  uint32_t rank_;
};
} // namespace

std::vector<std::unique_ptr<Communicator>>
createInProcessCommunicators(uint32_t size, std::chrono::milliseconds timeout) {
  auto world = std::make_shared<World>(size, timeout);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (uint32_t rank = 0; rank < size; ++rank)
    ranks.push_back(std::make_unique<InProcessCommunicator>(world, rank));
  return ranks;
}

} // namespace spillway
