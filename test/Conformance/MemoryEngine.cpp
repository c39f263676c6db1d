#include "test/Conformance/MemoryEngine.h"
#include "runtime/io/Transfers.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace spillway::io {

void MemoryEngine::put(const std::filesystem::path &path, std::vector<std::byte> bytes) {
  contents_[path] = std::move(bytes);
}

const std::vector<std::byte> *MemoryEngine::contents(const std::filesystem::path &path) const {
  auto found = contents_.find(path);
  return found == contents_.end() ? nullptr : &found->second;
}

bool MemoryEngine::isOpen(int file) const {
  return file >= 0 && static_cast<size_t>(file) < files_.size() &&
         files_[static_cast<size_t>(file)].isOpen;
}

uint64_t MemoryEngine::storedBytes() const {
  uint64_t sum = 0;
  for (const auto &[path, bytes] : contents_)
    sum += bytes.size();
  return sum;
}

Result<int> MemoryEngine::open(const std::filesystem::path &path, const OpenOptions &options) {
  if (options.access == Access::read && !contents_.contains(path))
    return systemError(ENOENT, fmt::format("cannot open '{}'", path.string()));
  if (options.reserve > options_.capacity)
    return systemError(
        ENOSPC, fmt::format("cannot set aside {} bytes for '{}'", options.reserve, path.string()));
  std::vector<std::byte> &bytes = contents_[path];
  if (options.access == Access::truncate)
    bytes.clear();
  if (options.access != Access::read)
    bytes.resize(std::max<size_t>(bytes.size(), options.reserve));
  files_.push_back({path, options, true});
  return static_cast<int>(files_.size()) - 1;
}

Status MemoryEngine::close(int file) {
  if (!isOpen(file))
    return bugError("there is no open file {}", file);
  File &entry = files_[static_cast<size_t>(file)];
  if (entry.requests != 0)
    return bugError("'{}' is closed with {} requests in flight", entry.path.string(),
                    entry.requests);
  entry.isOpen = false;
  return {};
}

Status MemoryEngine::submit(const Request &request) {
  if (!isOpen(request.file))
    return bugError("a request to file {}, which is not open", request.file);
  File &file = files_[static_cast<size_t>(request.file)];
  SPILLWAY_RETURN_IF_ERROR(checkRequest(request, file.path, file.options));
  TimePoint due = now_;
  if (request.kind != Request::sync) {
    bool reads = request.kind == Request::read;
    TimePoint &channel = reads ? readsEnd_ : writesEnd_;
    std::chrono::duration<double> time(
        static_cast<double>(request.bytes) /
        (reads ? options_.readBytesPerSecond : options_.writeBytesPerSecond));
    channel = std::max(now_, channel) + std::chrono::duration_cast<std::chrono::nanoseconds>(time);
    due = channel;
  }
  ++file.requests;
  due += options_.latency;
  auto place = std::ranges::upper_bound(pending_, due, {}, &Pending::due);
  pending_.insert(place, {due, request});
  return {};
}

Completion MemoryEngine::carryOut(const Request &request) {
  File &file = files_[static_cast<size_t>(request.file)];
  --file.requests;
  Completion completion{request.tag, {}, request.bytes};
  std::vector<std::byte> &bytes = contents_[file.path];
  switch (request.kind) {
  case Request::read: {
    uint64_t there = bytes.size() - std::min<uint64_t>(bytes.size(), request.offset);
    completion.bytes = std::min(request.bytes, there);
    if (completion.bytes < request.bytes - request.slack)
      completion.status = shortFileError(request, file.path, completion.bytes);
    if (completion.bytes != 0)
      std::memcpy(request.data, bytes.data() + request.offset, completion.bytes);
    counters_.readBytes += completion.bytes;
    break;
  }
  case Request::write: {
    uint64_t size = std::max<uint64_t>(bytes.size(), request.offset + request.bytes);
    if (storedBytes() - bytes.size() + size > options_.capacity) {
      completion.status = transferError(ENOSPC, request, file.path);
      break;
    }
    bytes.resize(size);
    if (request.bytes != 0)
      std::memcpy(bytes.data() + request.offset, request.data, request.bytes);
    counters_.writtenBytes += request.bytes;
    break;
  }
  case Request::sync:
    break;
  }
  return completion;
}

Status MemoryEngine::poll(std::vector<Completion> &completions, TimePoint until) {
  if (until != noWait) {
    TimePoint next = pending_.empty() ? until : std::min(until, pending_.front().due);
    if (next != forever)
      now_ = std::max(now_, next);
    else
      sleepUntilWake();
  }
  while (!pending_.empty() && pending_.front().due <= now_) {
    completions.push_back(carryOut(pending_.front().request));
    pending_.erase(pending_.begin());
  }
  return {};
}

void MemoryEngine::sleepUntilWake() {
  std::unique_lock lock(mutex_);
  wakes_.wait(lock, [&] { return woken_; });
  woken_ = false;
}

void MemoryEngine::wake() {
  std::lock_guard lock(mutex_);
  woken_ = true;
  wakes_.notify_one();
}

} // namespace spillway::io
