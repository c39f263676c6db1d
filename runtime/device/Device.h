// What the executor asks of a processor: memories, and streams that copy and
// launch in order. Shaped for CUDA, where a call enqueues and returns; on the CPU
// a call does its work and returns.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/Event.h"
#include "runtime/device/KernelAbi.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace spillway {

/// A block of memory of one kind, freed by the destructor.
class DeviceMemory {
public:
  virtual ~DeviceMemory() = default;
  /// An address of the device for device memory, else of the host. Aligned to
  /// 4096 bytes.
  virtual std::byte *data() const = 0;
  virtual uint64_t size() const = 0;
};

enum class MemoryKind {
  /// Where kernels work.
  device,
  /// The host's, pinned where copies need that; file I/O goes here.
  host,
};

/// One kernel call over a range of units (see KernelAbi.h).
struct KernelLaunch {
  KernelFunction function = nullptr;
  std::span<const KernelArgument> arguments;
  int64_t begin = 0;
  int64_t end = 0;
  /// Into how many parts the units may be divided (see KernelRange) at most.
  int64_t parts = 1;
  std::byte *scratch = nullptr;
  uint64_t scratchPerThread = 0;
  /// Whether several threads may divide the work.
  bool isDivided = true;
  /// Set by the kernel (see KernelFault); valid after the launch has ended.
  int32_t *fault = nullptr;
};

/// Work in order. Used by one thread at a time. What is passed by address stays
/// valid until the work has ended.
class DeviceStream {
public:
  virtual ~DeviceStream() = default;

  /// What follows starts after `event`. False where it is known to have failed;
  /// then nothing may follow.
  virtual bool wait(Event &event) = 0;
  /// Signals `event` when all work before it has ended.
  virtual void signal(Event &event) = 0;
  virtual Status copy(std::byte *target, const std::byte *source, uint64_t bytes) = 0;
  virtual Status launch(const KernelLaunch &launch) = 0;
  /// Returns when all work has ended, with the first error of any.
  virtual Status synchronize() = 0;
};

class Device {
public:
  virtual ~Device() = default;

  virtual Result<std::unique_ptr<DeviceMemory>> allocate(MemoryKind kind, uint64_t bytes) = 0;
  /// A stream that can launch kernels, or one that only copies.
  virtual Result<std::unique_ptr<DeviceStream>> createStream(bool launches) = 0;
  /// Parts into which a launch's units and scratch may be divided.
  virtual unsigned launchThreads() const = 0;
};

} // namespace spillway
