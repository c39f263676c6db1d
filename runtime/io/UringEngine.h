// Files through io_uring.
#pragma once

#include "runtime/io/FileEngine.h"

#include <liburing.h>

namespace spillway::io {

/// Fixed files and registered buffers as far as the kernel grants them. The ring is
/// enabled by the first `submit` or `poll`, whose thread is then the driving one.
class UringEngine final : public FileEngine {
public:
  /// An error where the kernel lacks or forbids what is needed (Linux 5.11).
  static Result<std::unique_ptr<Engine>> create(const EngineOptions &options);
  ~UringEngine() override;

  Status registerMemory(std::span<const std::span<std::byte>> arenas) override;
  Status poll(std::vector<Completion> &completions, TimePoint until) override;
  void wake() override;
  std::string name() const override { return "io_uring"; }

  /// Of the declared memory, what the kernel keeps pinned.
  uint64_t registeredBytes() const;

private:
  explicit UringEngine(const EngineOptions &options);
  Status setUp();
  void opened(int file) override;
  void closing(int file) override;
  Status start() override;

  Status enable();
  void prepareBlocks();
  void prepare(io_uring_sqe *sqe, unsigned slot) const;
  void awaitWake();
  /// Enters the kernel, and there waits for a completion until the deadline.
  Status enter(TimePoint until);
  void reap();

  struct Piece {
    std::span<std::byte> bytes;
    unsigned index;
  };
  const Piece *findPiece(const std::byte *data, uint64_t bytes) const;
  /// Pins `bytes` as piece `index`; false where the kernel does not.
  bool registerPiece(std::span<std::byte> bytes, unsigned index);

  EngineOptions options_;
  io_uring ring_{};
  bool ringExists_ = false;
  bool enabled_ = true;
  bool fileTable_ = false;
  /// By file: whether it has its place in the kernel's table.
  std::vector<bool> fixed_;
  std::vector<Piece> pieces_;
  int wakeDescriptor_ = -1;
  bool waitsForWake_ = false;
  bool woken_ = false;
};

} // namespace spillway::io
