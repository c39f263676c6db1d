#include "runtime/comm/Communicator.h"

namespace spillway {

namespace {
class SelfCommunicator final : public Communicator {
public:
  uint32_t rank() const override { return 0; }
  uint32_t size() const override { return 1; }

  Status allGather(DeviceStream &stream, const std::byte *source, std::byte *target,
                   uint64_t bytes) override {
    return source == target ? Status() : stream.copy(target, source, bytes);
  }

  void abort(const Error &) override {}
};
} // namespace

std::unique_ptr<Communicator> createSelfCommunicator() {
  return std::make_unique<SelfCommunicator>();
}

} // namespace spillway
