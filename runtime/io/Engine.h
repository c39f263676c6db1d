// Asynchronous reads and writes of files.
#pragma once

#include "runtime/base/Status.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::io {

/// What address, offset and length of a request to a direct file are multiples of.
inline constexpr uint64_t directAlignment = 4096;

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
/// Deadlines of Engine::poll.
inline constexpr TimePoint noWait = TimePoint::min();
inline constexpr TimePoint forever = TimePoint::max();

enum class Access : uint8_t {
  /// The file exists and is only read.
  read,
  /// Read and written; made where it does not exist, its content kept.
  keep,
  /// Read and written; made where it does not exist, emptied where it does.
  truncate,
};

struct OpenOptions {
  Access access = Access::read;
  /// Past the page cache. A file system that cannot do so (tmpfs before Linux 6.6)
  /// gives an ordinary file; requests are held to the alignment all the same.
  bool direct = true;
  /// Bytes from the start of a written file to set aside at once, so that a full
  /// disk is noticed before the first byte is written. The file has as many from then on; those
  /// that nobody has written are 0.
  uint64_t reserve = 0;
};

struct Request {
  enum Kind : uint8_t {
    read,
    write,
    /// Makes the writes that completed before its submission durable (fdatasync).
    sync,
  };

  Kind kind = read;
  int file = -1;
  uint64_t offset = 0;
  /// Belongs to the engine from submission until the completion; a write only
  /// reads it.
  std::byte *data = nullptr;
  uint64_t bytes = 0;
  /// Of a read: this many bytes at its end may lie behind the end of the file and
  /// are left as they are, as for the last, not aligned part of a direct file.
  uint64_t slack = 0;
  /// The caller's, returned with the completion.
  uint64_t tag = 0;
};

struct Completion {
  uint64_t tag = 0;
  /// An error names operation, file, offset and length.
  Status status;
  /// Transferred, all at the start of the request: `Request::bytes` where the
  /// status is ok, less up to `slack`. Unspecified otherwise.
  uint64_t bytes = 0;
};

/// Totals since the engine was made.
struct Counters {
  uint64_t readBytes = 0;
  uint64_t writtenBytes = 0;
  /// Transfers that came back with less than asked and were continued.
  uint64_t shortTransfers = 0;
  /// Time during which at least one block was with the system.
  uint64_t busyNs = 0;
  /// Sum over blocks of their time with the system: over `busyNs`, the mean number
  /// in flight.
  uint64_t blockNs = 0;
};

/// Moves bytes between files and memory without blocking its caller. One thread
/// drives an engine and calls everything but `wake`; it need not be the one that
/// made it or opened files before the first request. Requests complete in any
/// order. The destructor waits for what is in flight and drops its completions; it
/// runs in the driving thread.
class Engine {
public:
  virtual ~Engine() = default;

  /// A handle of the file for requests. Errors are the machine's and name the path.
  virtual Result<int> open(const std::filesystem::path &path, const OpenOptions &options) = 0;
  /// A bug error where a request to the file is in flight.
  virtual Status close(int file) = 0;

  /// Declares the memory that later requests mostly point into, so that the system
  /// may pin it once. Replaces what was declared before; with nothing in flight.
  /// What the system does not grant is used all the same, only slower.
  virtual Status registerMemory(std::span<const std::span<std::byte>> arenas) = 0;

  /// Takes a request of any size. Splits it into blocks, starts as many as the
  /// depth allows and the others from `poll`. Errors are bugs of the caller
  /// (unknown file, misaligned, a write to a file opened for reading) or the
  /// engine's end; what goes wrong in the transfer comes with the completion, of
  /// which each accepted request gets exactly one, after all its blocks have ended.
  virtual Status submit(const Request &request) = 0;

  /// Drives the transfers and appends completions. Waits for at least one until the
  /// deadline on the clock of `now`, or until `wake`, whatever is in flight.
  virtual Status poll(std::vector<Completion> &completions, TimePoint until) = 0;

  /// Ends the present or the next waiting `poll`. From any thread.
  virtual void wake() = 0;

  /// Requests submitted and not yet returned by `poll`.
  virtual uint64_t inFlight() const = 0;
  virtual Counters counters() const = 0;
  virtual TimePoint now() const { return Clock::now(); }
  /// "io_uring", "pread", "throttled io_uring", ...
  virtual std::string name() const = 0;
};

enum class EngineKind : uint8_t {
  /// io_uring where the kernel allows it, else pread.
  automatic,
  uring,
  pread,
};

/// "auto", "uring", "pread".
std::optional<EngineKind> engineKindFromName(std::string_view name);

struct EngineOptions {
  /// Bytes of one transfer, a multiple of `directAlignment`. Processor time per byte falls
  /// with it (1, 2, 4 MiB: 12, 5, 3 ms per GB), and so does what small requests overlap.
  uint64_t blockBytes = 2 << 20;
  /// Blocks with the system at a time.
  unsigned depth = 16;
  /// Threads of the pread engine.
  unsigned threads = 4;
  /// Whether io_uring may pin declared memory, and its files.
  bool registerBuffers = true;
  bool registerFiles = true;
  /// For tests: where not 0, a system call transfers at most this many bytes of a
  /// block, a multiple of `directAlignment`, so that transfers come back short.
  uint64_t transferLimit = 0;
};

Result<std::unique_ptr<Engine>> makeEngine(EngineKind kind, const EngineOptions &options = {});

} // namespace spillway::io
