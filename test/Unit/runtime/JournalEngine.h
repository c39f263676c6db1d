// What a drive may hold after the power has gone.
#pragma once

#include "runtime/io/EngineDouble.h"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace spillway::test {

/// What was written to files, and when it was durable.
struct Journal {
  struct Write {
    std::filesystem::path path;
    uint64_t offset = 0;
    std::vector<std::byte> bytes;
    /// Numbers of events; UINT64_MAX: not yet.
    uint64_t submitted = 0;
    uint64_t completed = UINT64_MAX;
    uint64_t durable = UINT64_MAX;
  };

  uint64_t events = 0;
  std::vector<Write> writes;

  /// The file's bytes after event `event`, which were `initial`: all of what was durable, and of
  /// everything else that was submitted the sectors that `keeps` says.
  template <typename Keeps>
  std::vector<std::byte> contents(const std::filesystem::path &path, std::vector<std::byte> initial,
                                  uint64_t event, Keeps &&keeps) const {
    constexpr uint64_t sectorBytes = 512;
    for (const Write &write : writes) {
      if (write.path != path || write.submitted > event)
        continue;
      for (uint64_t at = 0; at < write.bytes.size(); at += sectorBytes)
        if (write.durable <= event || keeps())
          std::copy_n(write.bytes.begin() + static_cast<long>(at), sectorBytes,
                      initial.begin() + static_cast<long>(write.offset + at));
    }
    return initial;
  }
};

/// Passes everything on and keeps a journal.
class JournalEngine final : public io::EngineDouble {
public:
  JournalEngine(std::unique_ptr<io::Engine> inner, Journal &journal)
      : EngineDouble(std::move(inner)), journal_(journal) {}

  Result<int> open(const std::filesystem::path &path, const io::OpenOptions &options) override {
    SPILLWAY_ASSIGN_OR_RETURN(int file, inner().open(path, options));
    paths_[file] = path;
    return file;
  }

  Status submit(const io::Request &request) override {
    Pending pending{request, ++journal_.events, journal_.writes.size()};
    if (request.kind == io::Request::write)
      journal_.writes.push_back({paths_[request.file],
                                 request.offset,
                                 {request.data, request.data + request.bytes},
                                 pending.event});
    io::Request passed = request;
    passed.tag = requests_.add(pending);
    return inner().submit(passed);
  }

  Status poll(std::vector<io::Completion> &completions, io::TimePoint until) override {
    size_t first = completions.size();
    SPILLWAY_RETURN_IF_ERROR(inner().poll(completions, until));
    for (size_t i = first; i < completions.size(); ++i) {
      Pending pending = requests_.take(completions[i].tag);
      completions[i].tag = pending.request.tag;
      note(pending);
    }
    return {};
  }

  uint64_t inFlight() const override { return requests_.size(); }
  std::string name() const override { return "journaling " + inner().name(); }

private:
  struct Pending {
    io::Request request;
    uint64_t event = 0;
    size_t write = 0;
  };

  void note(const Pending &pending) {
    uint64_t event = ++journal_.events;
    if (pending.request.kind == io::Request::write)
      journal_.writes[pending.write].completed = event;
    if (pending.request.kind != io::Request::sync)
      return;
    for (Journal::Write &write : journal_.writes)
      if (write.path == paths_[pending.request.file] && write.completed < pending.event)
        write.durable = std::min(write.durable, event);
  }

  Journal &journal_;
  std::map<int, std::filesystem::path> paths_;
  io::TagTable<Pending> requests_;
};

} // namespace spillway::test
