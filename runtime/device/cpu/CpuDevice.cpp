#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/device/cpu/DivideRange.h"
#include "runtime/memory/Arena.h"

#include <cstring>

namespace spillway {

namespace {
class CpuMemory final : public DeviceMemory {
public:
  explicit CpuMemory(Arena arena) : arena_(std::move(arena)) {}

  std::byte *data() const override { return arena_.data(); }
  uint64_t size() const override { return arena_.size(); }

private:
  Arena arena_;
};

/// Below this a copy is not worth waking the team.
constexpr uint64_t bytesPerCopyUnit = 256 * 1024;

class CpuStream final : public DeviceStream {
public:
  /// `team` is null for a stream that only copies.
  explicit CpuStream(ThreadTeam *team) : team_(team) {}

  bool wait(Event &event) override { return event.wait(); }

  void signal(Event &event) override { event.signal(); }

  Status copy(std::byte *target, const std::byte *source, uint64_t bytes) override {
    if (!team_ || bytes <= bytesPerCopyUnit) {
      if (bytes != 0)
        std::memcpy(target, source, bytes);
      return {};
    }
    auto units = static_cast<int64_t>((bytes + bytesPerCopyUnit - 1) / bytesPerCopyUnit);
    team_->run(0, units, [&](int64_t first, int64_t last, unsigned) {
      uint64_t begin = static_cast<uint64_t>(first) * bytesPerCopyUnit;
      uint64_t end = std::min(static_cast<uint64_t>(last) * bytesPerCopyUnit, bytes);
      std::memcpy(target + begin, source + begin, end - begin);
    });
    return {};
  }

  Status launch(const KernelLaunch &launch) override {
    if (!team_)
      return bugError("a copy stream was asked to launch a kernel");
    auto call = [&](const KernelRange &range, unsigned thread) {
      launch.function(launch.arguments.data(), &range, launch.scratch + thread * launch.scratchPerThread, launch.fault);
    };
    if (launch.begin >= launch.end)
      return {};
    if (!launch.isDivided) {
      call({launch.begin, launch.end}, 0);
      return {};
    }
    divideRange(*team_, launch.begin, launch.end, launch.parts, call);
    return {};
  }

  Status synchronize() override { return {}; }

private:
  ThreadTeam *team_;
};

class CpuDevice final : public Device {
public:
  explicit CpuDevice(ThreadTeam &team) : team_(team) {}

  Result<std::unique_ptr<DeviceMemory>> allocate(MemoryKind, uint64_t bytes) override {
    SPILLWAY_ASSIGN_OR_RETURN(Arena arena, Arena::allocate(bytes, {}));
    return std::unique_ptr<DeviceMemory>(std::make_unique<CpuMemory>(std::move(arena)));
  }

  Result<std::unique_ptr<DeviceStream>> createStream(bool launches) override {
    return std::unique_ptr<DeviceStream>(std::make_unique<CpuStream>(launches ? &team_ : nullptr));
  }

  unsigned launchThreads() const override { return team_.size(); }

private:
  ThreadTeam &team_;
};
} // namespace

std::unique_ptr<Device> createCpuDevice(ThreadTeam &team) {
  return std::make_unique<CpuDevice>(team);
}

} // namespace spillway
