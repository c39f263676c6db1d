#include "runtime/io/FileEngine.h"
#include "runtime/io/Transfers.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace spillway::io {

namespace {
/// Attempts in a row that transfer nothing, before a block is given up.
constexpr unsigned maxAttempts = 64;

Result<int> openDescriptor(const std::filesystem::path &path, const OpenOptions &options) {
  int flags = O_CLOEXEC;
  switch (options.access) {
  case Access::read:
    flags |= O_RDONLY;
    break;
  case Access::keep:
    flags |= O_RDWR | O_CREAT;
    break;
  case Access::truncate:
    flags |= O_RDWR | O_CREAT | O_TRUNC;
    break;
  }
  int descriptor = ::open(path.c_str(), flags | (options.direct ? O_DIRECT : 0), 0666);
  if (descriptor < 0 && errno == EINVAL && options.direct)
    descriptor = ::open(path.c_str(), flags, 0666);
  if (descriptor < 0)
    return systemError(errno, fmt::format("cannot open '{}'", path.string()));
  return descriptor;
}

Status prepareFile(int descriptor, const std::filesystem::path &path, const OpenOptions &options) {
  struct stat facts;
  if (fstat(descriptor, &facts) != 0)
    return systemError(errno, fmt::format("cannot open '{}'", path.string()));
  if (!S_ISREG(facts.st_mode) && !S_ISBLK(facts.st_mode))
    return machineError("'{}' is not a file", path.string());
  if (options.reserve == 0 || !S_ISREG(facts.st_mode))
    return {};
  int code;
  do
    code = fallocate(descriptor, 0, 0, static_cast<off_t>(options.reserve)) == 0 ? 0 : errno;
  while (code == EINTR);
  if (code == EOPNOTSUPP) {
    bool isShorter = static_cast<uint64_t>(facts.st_size) < options.reserve;
    code = isShorter && ftruncate(descriptor, static_cast<off_t>(options.reserve)) != 0 ? errno : 0;
  }
  if (code != 0)
    return systemError(
        code, fmt::format("cannot set aside {} bytes for '{}'", options.reserve, path.string()));
  return {};
}
} // namespace

FileEngine::FileEngine(const EngineOptions &options) : options_(options), slots_(options.depth) {
  for (unsigned slot = options.depth; slot > 0; --slot)
    freeSlots_.push_back(slot - 1);
}

FileEngine::~FileEngine() {
  abandon();
  for (const File &file : files_)
    if (file.descriptor >= 0)
      ::close(file.descriptor);
}

Result<int> FileEngine::open(const std::filesystem::path &path, const OpenOptions &options) {
  SPILLWAY_ASSIGN_OR_RETURN(int descriptor, openDescriptor(path, options));
  if (Status status = prepareFile(descriptor, path, options); !status.ok()) {
    ::close(descriptor);
    return std::move(status).error();
  }
  auto free = std::ranges::find(files_, -1, &File::descriptor);
  if (free == files_.end())
    free = files_.emplace(free);
  *free = {descriptor, path, options};
  int file = static_cast<int>(free - files_.begin());
  opened(file);
  return file;
}

Status FileEngine::close(int file) {
  if (file < 0 || static_cast<size_t>(file) >= files_.size() || descriptor(file) < 0)
    return bugError("there is no open file {}", file);
  File &entry = files_[static_cast<size_t>(file)];
  if (entry.requests != 0)
    return bugError("'{}' is closed with {} requests in flight", entry.path.string(),
                    entry.requests);
  closing(file);
  int code = ::close(std::exchange(entry.descriptor, -1)) == 0 ? 0 : errno;
  if (code != 0 && code != EINTR)
    return systemError(code, fmt::format("cannot close '{}'", entry.path.string()));
  return {};
}

Status FileEngine::submit(const Request &request) {
  if (request.file < 0 || static_cast<size_t>(request.file) >= files_.size() ||
      descriptor(request.file) < 0)
    return bugError("a request to file {}, which is not open", request.file);
  File &file = files_[static_cast<size_t>(request.file)];
  SPILLWAY_RETURN_IF_ERROR(checkRequest(request, file.path, file.options));
  if (spare_.empty())
    spare_.push_back(&pool_.emplace_back());
  Transfer *transfer = spare_.back();
  spare_.pop_back();
  *transfer = {request};
  transfer->end = request.offset + request.bytes;
  ++file.requests;
  ++inFlight_;
  if (request.kind != Request::sync && request.bytes == 0)
    complete(transfer);
  else
    waiting_.push_back(transfer);
  return start();
}

std::optional<unsigned> FileEngine::nextBlock() {
  unsigned slot;
  if (!continued_.empty()) {
    slot = continued_.back();
    continued_.pop_back();
  } else if (!waiting_.empty() && !freeSlots_.empty()) {
    Transfer *transfer = waiting_.front();
    const Request &request = transfer->request;
    slot = freeSlots_.back();
    freeSlots_.pop_back();
    uint64_t bytes = request.kind == Request::sync
                         ? 0
                         : std::min(request.bytes - transfer->cut, options_.blockBytes);
    slots_[slot] = {transfer, request.offset + transfer->cut, bytes};
    transfer->cut += bytes;
    ++transfer->blocks;
    if (request.kind == Request::sync || transfer->cut == request.bytes)
      waiting_.pop_front();
  } else {
    return std::nullopt;
  }
  takeTime();
  ++running_;
  return slot;
}

FileEngine::Block FileEngine::block(unsigned slot) const {
  const Slot &entry = slots_[slot];
  const Request &request = entry.transfer->request;
  uint64_t bytes = entry.bytes;
  if (options_.transferLimit != 0)
    bytes = std::min(bytes, options_.transferLimit);
  return {request.kind, request.file, entry.offset, request.data + (entry.offset - request.offset),
          bytes};
}

void FileEngine::finish(unsigned slot, int64_t result) {
  takeTime();
  --running_;
  Slot &entry = slots_[slot];
  Transfer &transfer = *entry.transfer;
  const Request &request = transfer.request;
  const File &file = files_[static_cast<size_t>(request.file)];

  if (result < 0) {
    bool again = (result == -EINTR || result == -EAGAIN) && ++entry.attempts < maxAttempts;
    if (again) {
      continued_.push_back(slot);
      return;
    }
    if (transfer.status.ok())
      transfer.status = transferError(static_cast<int>(-result), request, file.path);
    return giveBack(slot);
  }
  if (request.kind == Request::sync)
    return giveBack(slot);

  auto moved = static_cast<uint64_t>(result);
  (request.kind == Request::read ? counters_.readBytes : counters_.writtenBytes) += moved;
  if (moved == entry.bytes)
    return giveBack(slot);

  ++counters_.shortTransfers;
  bool partial = file.options.direct && moved % directAlignment != 0;
  if (request.kind == Request::read && (moved == 0 || partial)) {
    struct stat facts;
    uint64_t end = entry.offset + moved;
    if (fstat(file.descriptor, &facts) == 0 && end >= static_cast<uint64_t>(facts.st_size)) {
      transfer.end = std::min(transfer.end, end);
      return giveBack(slot);
    }
  }
  uint64_t progress = partial ? moved - moved % directAlignment : moved;
  entry.attempts = progress == 0 ? entry.attempts + 1 : 0;
  if (entry.attempts == maxAttempts) {
    if (transfer.status.ok())
      transfer.status = machineError("{}: the system keeps transferring nothing at offset {}",
                                     describe(request, file.path), entry.offset);
    return giveBack(slot);
  }
  entry.offset += progress;
  entry.bytes -= progress;
  continued_.push_back(slot);
}

void FileEngine::giveBack(unsigned slot) {
  Transfer *transfer = std::exchange(slots_[slot].transfer, nullptr);
  freeSlots_.push_back(slot);
  const Request &request = transfer->request;
  bool failed =
      !transfer->status.ok() || transfer->end < request.offset + request.bytes - request.slack;
  // Only the oldest waiting request is cut partly.
  if (failed && !waiting_.empty() && waiting_.front() == transfer)
    waiting_.pop_front();
  bool whole = waiting_.empty() || waiting_.front() != transfer;
  if (--transfer->blocks == 0 && whole)
    complete(transfer);
}

void FileEngine::complete(Transfer *transfer) {
  const Request &request = transfer->request;
  File &file = files_[static_cast<size_t>(request.file)];
  uint64_t found = transfer->end - std::min(transfer->end, request.offset);
  Status status = std::move(transfer->status);
  if (status.ok() && found < request.bytes - request.slack)
    status = shortFileError(request, file.path, found);
  completed_.push_back({request.tag, std::move(status), found});
  --file.requests;
  spare_.push_back(transfer);
}

void FileEngine::takeCompletions(std::vector<Completion> &completions) {
  inFlight_ -= completed_.size();
  std::ranges::move(completed_, std::back_inserter(completions));
  completed_.clear();
}

void FileEngine::abandon() {
  for (unsigned slot : std::exchange(continued_, {}))
    giveBack(slot);
  for (Transfer *transfer : std::exchange(waiting_, {}))
    if (transfer->blocks == 0)
      complete(transfer);
}

void FileEngine::takeTime() {
  TimePoint now = Clock::now();
  if (running_ != 0) {
    auto ns = static_cast<uint64_t>(std::chrono::nanoseconds(now - counted_).count());
    counters_.busyNs += ns;
    counters_.blockNs += ns * running_;
  }
  counted_ = now;
}

} // namespace spillway::io
