// What the engines of real files have in common: files, blocks, short transfers.
#pragma once

#include "runtime/io/Engine.h"

#include <deque>
#include <vector>

namespace spillway::io {

/// Cuts requests into blocks and puts their results together. The engine derived
/// from it carries blocks to the system and back.
class FileEngine : public Engine {
public:
  ~FileEngine() override;

  Result<int> open(const std::filesystem::path &path, const OpenOptions &options) override;
  Status close(int file) override;
  Status submit(const Request &request) override;
  uint64_t inFlight() const override { return inFlight_; }
  Counters counters() const override { return counters_; }

protected:
  /// What one system call transfers.
  struct Block {
    Request::Kind kind;
    int file;
    uint64_t offset;
    std::byte *data;
    uint64_t bytes;
  };

  explicit FileEngine(const EngineOptions &options);

  /// Called after a file got its handle and before it loses it.
  virtual void opened(int file) {}
  virtual void closing(int file) {}
  /// Hands over blocks as long as `nextBlock` gives some.
  virtual Status start() = 0;

  int descriptor(int file) const { return files_[static_cast<size_t>(file)].descriptor; }

  /// The slot, below the depth, of the next block for the system, which now counts as
  /// there; nothing where the depth is reached or no block is left.
  std::optional<unsigned> nextBlock();
  Block block(unsigned slot) const;
  /// Takes what the system said about a block: bytes, or a negative errno.
  void finish(unsigned slot, int64_t result);

  unsigned blocksWithSystem() const { return running_; }
  bool hasCompletions() const { return !completed_.empty(); }
  void takeCompletions(std::vector<Completion> &completions);
  /// Forgets every block that the system does not have.
  void abandon();

private:
  struct File {
    int descriptor = -1;
    std::filesystem::path path;
    OpenOptions options;
    uint64_t requests = 0;
  };
  struct Transfer {
    Request request{};
    /// Of the request, already cut into blocks.
    uint64_t cut = 0;
    unsigned blocks = 0;
    /// Where the file was found to end, or the request's end.
    uint64_t end = 0;
    Status status{};
  };
  struct Slot {
    Transfer *transfer = nullptr;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    unsigned attempts = 0;
  };

  void giveBack(unsigned slot);
  void complete(Transfer *transfer);
  void takeTime();

  EngineOptions options_;
  std::vector<File> files_;
  /// Every transfer there ever was at a time, and those not in use.
  std::deque<Transfer> pool_;
  std::vector<Transfer *> spare_;
  std::vector<Slot> slots_;
  std::vector<unsigned> freeSlots_;
  /// Blocks of which a part is still to be transferred.
  std::vector<unsigned> continued_;
  /// Requests that are not wholly cut into blocks, oldest first.
  std::deque<Transfer *> waiting_;
  std::vector<Completion> completed_;
  uint64_t inFlight_ = 0;
  unsigned running_ = 0;
  Counters counters_;
  TimePoint counted_;
};

} // namespace spillway::io
