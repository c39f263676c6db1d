// What the streams that move bytes between files and arenas have in common. Internal to
// the executor.
#pragma once

#include "runtime/executor/CommandList.h"
#include "runtime/io/Patience.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace spillway {

/// Runs the commands of one stream on an engine of its own, many of them at a time.
class FileStream {
public:
  virtual ~FileStream() = default;

  /// Runs the list's commands of the stream. Returns when all have ended, or
  /// after an error when nothing is in flight any more. A broken drive is
  /// waited for no longer than the timeout again.
  void run(CommandList &list, RunState &state);

  /// That its engine has written so far. Any thread.
  uint64_t writtenBytes() const { return writtenBytes_.load(std::memory_order_relaxed); }

protected:
  /// The engine outlives the stream. A drive that says nothing for `timeout` while requests are
  /// in flight is broken.
  FileStream(StreamKind kind, io::Engine &engine, std::chrono::milliseconds timeout);

  /// In front of each run.
  virtual void restart() {}
  /// Begins what can begin now: until there is no room, no command, or one whose events are
  /// pending. True where all commands have begun.
  virtual Result<bool> begin() = 0;
  virtual Status complete(const io::Completion &completion) = 0;
  /// Whether what ended the run is that values are no finite numbers.
  virtual bool foundNotFinite() const { return false; }

  /// Takes the next command; none at the end, and none while its events are pending, whose end
  /// wakes the engine.
  std::optional<uint32_t> nextCommand();
  bool allBegun() const { return position_ == list_->order(kind_).size(); }
  void endCommand(uint32_t index);
  /// After transfers.
  void noteWritten() { writtenBytes_.store(engine_.counters().writtenBytes, std::memory_order_relaxed); }
  Error withLabel(Error error, uint32_t index) const;

  io::Engine &engine_;
  io::Patience patience_;
  /// Of the run in progress.
  CommandList *list_ = nullptr;

private:
  class EngineWatcher final : public Watcher {
  public:
    explicit EngineWatcher(io::Engine &engine) : engine_(engine) {}
    void wake() override { engine_.wake(); }

  private:
    io::Engine &engine_;
  };

  Status pump();

  StreamKind kind_;
  EngineWatcher watcher_;
  RunState *state_ = nullptr;
  /// The next command in the stream's order.
  size_t position_ = 0;
  std::vector<io::Completion> completions_;
  std::atomic<uint64_t> writtenBytes_{0};
};

} // namespace spillway
