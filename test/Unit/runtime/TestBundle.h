// A store and a program in a temporary folder, and their run.
#pragma once

#include "runtime/base/ThreadTeam.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/executor/Executor.h"
#include "runtime/executor/KernelLibrary.h"
#include "runtime/state/StoreWriter.h"
#include "test/Unit/runtime/Encode.h"
#include "test/Unit/runtime/TemporaryFolder.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace spillway::test {

/// Floats that differ from each other, between -1 and 1.
inline std::vector<float> makeFloats(size_t count, unsigned seed) {
  std::vector<float> values(count);
  uint32_t state = seed * 2654435761u + 1;
  for (float &value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31f;
  }
  return values;
}

inline std::span<const std::byte> asBytes(const std::vector<float> &values) {
  return std::as_bytes(std::span(values));
}

/// A state with its content in canonical order.
struct TestState {
  NewState state;
  std::vector<float> values;
};

class TestBundle {
public:
  /// Writes the states and opens the store.
  Status makeStore(const std::vector<TestState> &states) {
    SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<io::Engine> engine,
                              io::makeEngine(io::EngineKind::pread));
    std::vector<NewState> descriptions;
    for (const TestState &state : states)
      descriptions.push_back(state.state);
    SPILLWAY_RETURN_IF_ERROR(writeStore(
        folder.path(), *engine, descriptions,
        [&](size_t state, uint64_t offset, std::span<std::byte> target) -> Status {
          std::memcpy(target.data(), asBytes(states[state].values).data() + offset, target.size());
          return {};
        },
        {.bufferBytes = 16384}));
    return openStore();
  }

  Status openStore() {
    SPILLWAY_ASSIGN_OR_RETURN(store, Store::open(folder.path()));
    return {};
  }

  /// Checks the program and makes an executor for it. The engines default to pread.
  Status load(const Program &wanted, unsigned threads = 1, Communicator *ranks = nullptr,
              const EncodeOptions &options = {}) {
    executor.reset();
    if (!engine) {
      SPILLWAY_ASSIGN_OR_RETURN(engine, io::makeEngine(io::EngineKind::pread));
    }
    if (!writeEngine) {
      SPILLWAY_ASSIGN_OR_RETURN(writeEngine, io::makeEngine(io::EngineKind::pread));
    }
    self = createSelfCommunicator();
    Communicator &communicator = ranks ? *ranks : *self;
    SPILLWAY_ASSIGN_OR_RETURN(Program parsed,
                              Program::parse(encode(wanted, options), store, communicator.rank()));
    program = std::move(parsed);
    SPILLWAY_ASSIGN_OR_RETURN(KernelLibrary library,
                              KernelLibrary::load(SPILLWAY_TEST_KERNELS, program.kernels));
    kernels.emplace(std::move(library));
    SPILLWAY_ASSIGN_OR_RETURN(team, ThreadTeam::create(threads));
    device = createCpuDevice(*team);
    SPILLWAY_ASSIGN_OR_RETURN(executor,
                              Executor::create({program, store, *device, communicator, *engine,
                                                replay ? std::span<const KernelFunction>()
                                                       : std::span(kernels->functions()),
                                                std::chrono::milliseconds(200),
                                                writeEngine.get()}));
    return {};
  }

  template <typename T> void write(const Slice &slice, const std::vector<T> &values) {
    std::ranges::copy(std::as_bytes(std::span(values)).first(slice.bytes),
                      executor->bytes(slice).begin());
  }
  std::vector<float> floats(const Slice &slice) {
    std::vector<float> values(slice.bytes / sizeof(float));
    std::ranges::copy(executor->bytes(slice), std::as_writable_bytes(std::span(values)).begin());
    return values;
  }

  TemporaryFolder folder;
  Store store;
  bool replay = false;
  std::unique_ptr<io::Engine> engine;
  std::unique_ptr<io::Engine> writeEngine;
  Program program;
  std::optional<KernelLibrary> kernels;
  std::unique_ptr<ThreadTeam> team;
  std::unique_ptr<Device> device;
  std::unique_ptr<Communicator> self;
  std::unique_ptr<Executor> executor;
};

} // namespace spillway::test
