#include "runtime/io/FailingEngine.h"
#include "runtime/io/Transfers.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace spillway::io {

namespace {
constexpr std::byte flippedBit{0x10};

uint64_t half(uint64_t bytes) { return bytes / 2 - bytes / 2 % directAlignment; }
} // namespace

void FailingEngine::Release::operator()(std::byte *bytes) const { std::free(bytes); }

Result<int> FailingEngine::open(const std::filesystem::path &path, const OpenOptions &options) {
  if (isHit() && (fault_.kind == Fault::ioError || fault_.kind == Fault::noSpace))
    return systemError(fault_.kind == Fault::ioError ? EIO : ENOSPC,
                       fmt::format("cannot open '{}'", path.string()));
  SPILLWAY_ASSIGN_OR_RETURN(int file, inner().open(path, options));
  if (static_cast<size_t>(file) >= files_.size())
    files_.resize(static_cast<size_t>(file) + 1);
  files_[static_cast<size_t>(file)] = {path, options};
  return file;
}

Status FailingEngine::submit(const Request &request) {
  if (isHit())
    return submitFaulty(request);
  Request passed = request;
  passed.tag = requests_.add({request, false});
  Status status = inner().submit(passed);
  if (!status.ok())
    requests_.take(passed.tag);
  return status;
}

Status FailingEngine::submitFaulty(const Request &request) {
  if (request.file < 0 || static_cast<size_t>(request.file) >= files_.size())
    return bugError("a request to file {}, which is not open", request.file);
  const File &file = files_[static_cast<size_t>(request.file)];
  SPILLWAY_RETURN_IF_ERROR(checkRequest(request, file.path, file.options));
  bool sync = request.kind == Request::sync;
  Request passed = request;
  switch (fault_.kind) {
  case Fault::ioError:
  case Fault::noSpace:
    failed_.push_back({request.tag, transferError(fault_.kind == Fault::ioError ? EIO : ENOSPC,
                                                  request, file.path)});
    return {};
  case Fault::stall:
    ++stalled_;
    return {};
  case Fault::shortTransfer:
    if (sync) {
      failed_.push_back({request.tag, transferError(EIO, request, file.path)});
      return {};
    }
    passed.bytes = half(request.bytes);
    passed.slack = 0;
    break;
  case Fault::corruptByte:
    if (request.kind != Request::write || request.bytes == 0)
      break;
    uint64_t room = (request.bytes + directAlignment - 1) / directAlignment * directAlignment;
    copy_.reset(static_cast<std::byte *>(std::aligned_alloc(directAlignment, room)));
    if (!copy_)
      return machineError("no memory for a copy of {} bytes", request.bytes);
    std::memcpy(copy_.get(), request.data, request.bytes);
    copy_.get()[request.bytes / 2] ^= flippedBit;
    passed.data = copy_.get();
    break;
  }
  passed.tag = requests_.add({request, true});
  return inner().submit(passed);
}

void FailingEngine::spoil(const Request &request, Completion &completion) const {
  if (!completion.status.ok())
    return;
  const std::filesystem::path &path = files_[static_cast<size_t>(request.file)].path;
  if (fault_.kind == Fault::shortTransfer)
    completion.status = request.kind == Request::read
                            ? shortFileError(request, path, half(request.bytes))
                            : machineError("{}: only {} bytes were written",
                                           describe(request, path), half(request.bytes));
  else if (request.kind == Request::read && completion.bytes != 0)
    request.data[completion.bytes / 2] ^= flippedBit;
}

Status FailingEngine::poll(std::vector<Completion> &completions, TimePoint until) {
  size_t first = completions.size();
  SPILLWAY_RETURN_IF_ERROR(inner().poll(completions, failed_.empty() ? until : noWait));
  for (size_t i = first; i < completions.size(); ++i) {
    Pending pending = requests_.take(completions[i].tag);
    completions[i].tag = pending.request.tag;
    if (pending.faulty)
      spoil(pending.request, completions[i]);
  }
  for (Completion &completion : failed_)
    completions.push_back(std::move(completion));
  failed_.clear();
  return {};
}

} // namespace spillway::io
