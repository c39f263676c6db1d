// An engine with one fault.
#pragma once

#include "runtime/io/EngineDouble.h"

#include <memory>

namespace spillway::io {

struct Fault {
  enum Kind : uint8_t {
    /// The operation fails with EIO, or ENOSPC, and transfers nothing.
    ioError,
    noSpace,
    /// A request ends after about half its bytes, as where a file is too short. A
    /// sync fails with EIO.
    shortTransfer,
    /// One bit of a request's bytes is flipped, in memory for a read, on its way to
    /// the file for a write; success is reported. Nothing for a sync.
    corruptByte,
    /// A request never completes.
    stall,
  };

  Kind kind = ioError;
  /// Which one: opens and requests are counted together from 0. An open is hit by
  /// the first two kinds only.
  uint64_t operation = 0;
};

class FailingEngine final : public EngineDouble {
public:
  FailingEngine(std::unique_ptr<Engine> inner, const Fault &fault)
      : EngineDouble(std::move(inner)), fault_(fault) {}

  Result<int> open(const std::filesystem::path &path, const OpenOptions &options) override;
  Status submit(const Request &request) override;
  Status poll(std::vector<Completion> &completions, TimePoint until) override;
  uint64_t inFlight() const override { return requests_.size() + failed_.size() + stalled_; }
  std::string name() const override { return "failing " + inner().name(); }

  /// Opens and requests so far.
  uint64_t operations() const { return operations_; }

private:
  struct Pending {
    Request request;
    bool faulty = false;
  };
  struct File {
    std::filesystem::path path;
    OpenOptions options;
  };

  bool isHit() { return operations_++ == fault_.operation; }
  Status submitFaulty(const Request &request);
  void spoil(const Request &request, Completion &completion) const;

  Fault fault_;
  uint64_t operations_ = 0;
  std::vector<File> files_;
  TagTable<Pending> requests_;
  std::vector<Completion> failed_;
  uint64_t stalled_ = 0;
  /// The spoilt copy of what a write was to write.
  struct Release {
    void operator()(std::byte *bytes) const;
  };
  std::unique_ptr<std::byte, Release> copy_;
};

} // namespace spillway::io
