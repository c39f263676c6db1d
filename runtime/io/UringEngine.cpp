#include "runtime/io/UringEngine.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace spillway::io {

namespace {
constexpr unsigned maxFixedFiles = 64;
constexpr unsigned maxPieces = 64;
/// The kernel registers at most 1 GiB at a time.
constexpr uint64_t largestPiece = uint64_t(1) << 30;
/// Registering less is not worth its place.
constexpr uint64_t smallestPiece = uint64_t(1) << 20;
/// What a completion is for, where it is not for a block's slot.
constexpr uint64_t wakeToken = uint64_t(1) << 32;

__kernel_timespec timeUntil(TimePoint until) {
  auto left = std::max(std::chrono::nanoseconds(until - Clock::now()), std::chrono::nanoseconds(0));
  return {left.count() / 1'000'000'000, left.count() % 1'000'000'000};
}
} // namespace

UringEngine::UringEngine(const EngineOptions &options) : FileEngine(options), options_(options) {}

Result<std::unique_ptr<Engine>> UringEngine::create(const EngineOptions &options) {
  std::unique_ptr<UringEngine> engine(new UringEngine(options));
  SPILLWAY_RETURN_IF_ERROR(engine->setUp());
  return std::unique_ptr<Engine>(std::move(engine));
}

Status UringEngine::setUp() {
  // Blocks, and the wait for `wake` with its successor.
  unsigned entries = options_.depth + 2;
  io_uring_params parameters{};
  parameters.flags =
      IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_R_DISABLED;
  int code = io_uring_queue_init_params(entries, &ring_, &parameters);
  enabled_ = code != 0;
  if (code == -EINVAL) {
    parameters = {};
    code = io_uring_queue_init_params(entries, &ring_, &parameters);
  }
  if (code != 0)
    return systemError(-code, "cannot set up io_uring");
  ringExists_ = true;
  if (!(parameters.features & IORING_FEAT_EXT_ARG))
    return machineError("cannot set up io_uring: the kernel is older than Linux 5.11");
  wakeDescriptor_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wakeDescriptor_ < 0)
    return systemError(errno, "cannot set up io_uring");
  fileTable_ = options_.registerFiles && io_uring_register_files_sparse(&ring_, maxFixedFiles) == 0;
  return {};
}

UringEngine::~UringEngine() {
  abandon();
  while (blocksWithSystem() != 0 && enter(forever).ok()) {
    reap();
    abandon();
  }
  // The kernel takes a ring down later; files and memory are to be free now.
  if (fileTable_)
    io_uring_unregister_files(&ring_);
  if (!pieces_.empty())
    io_uring_unregister_buffers(&ring_);
  if (ringExists_)
    io_uring_queue_exit(&ring_);
  if (wakeDescriptor_ >= 0)
    ::close(wakeDescriptor_);
}

void UringEngine::opened(int file) {
  auto index = static_cast<size_t>(file);
  fixed_.resize(std::max(fixed_.size(), index + 1));
  int number = descriptor(file);
  fixed_[index] =
      fileTable_ && index < maxFixedFiles &&
      io_uring_register_files_update(&ring_, static_cast<unsigned>(file), &number, 1) == 1;
}

void UringEngine::closing(int file) {
  int none = -1;
  if (fixed_[static_cast<size_t>(file)])
    io_uring_register_files_update(&ring_, static_cast<unsigned>(file), &none, 1);
}

Status UringEngine::registerMemory(std::span<const std::span<std::byte>> arenas) {
  if (inFlight() != 0)
    return bugError("memory is declared with {} requests in flight", inFlight());
  if (!pieces_.empty())
    io_uring_unregister_buffers(&ring_);
  pieces_.clear();
  if (!options_.registerBuffers || io_uring_register_buffers_sparse(&ring_, maxPieces) != 0)
    return {};
  uint64_t size = largestPiece;
  for (std::span<std::byte> rest : arenas)
    while (!rest.empty() && pieces_.size() < maxPieces) {
      std::span<std::byte> piece = rest.first(std::min<uint64_t>(rest.size(), size));
      auto index = static_cast<unsigned>(pieces_.size());
      if (registerPiece(piece, index)) {
        pieces_.push_back({piece, index});
        rest = rest.subspan(piece.size());
      } else if ((size = std::min<uint64_t>(size, piece.size()) / 2) < smallestPiece) {
        break;
      }
    }
  if (pieces_.empty())
    io_uring_unregister_buffers(&ring_);
  return {};
}

bool UringEngine::registerPiece(std::span<std::byte> bytes, unsigned index) {
  iovec vector{bytes.data(), bytes.size()};
  __u64 tag = 0;
  return io_uring_register_buffers_update_tag(&ring_, index, &vector, &tag, 1) == 1;
}

uint64_t UringEngine::registeredBytes() const {
  uint64_t sum = 0;
  for (const Piece &piece : pieces_)
    sum += piece.bytes.size();
  return sum;
}

const UringEngine::Piece *UringEngine::findPiece(const std::byte *data, uint64_t bytes) const {
  for (const Piece &piece : pieces_)
    if (data >= piece.bytes.data() && data + bytes <= piece.bytes.data() + piece.bytes.size())
      return &piece;
  return nullptr;
}

Status UringEngine::enable() {
  if (enabled_)
    return {};
  // liburing 2.3 declares io_uring_enable_rings and does not export it.
  if (syscall(SYS_io_uring_register, ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0) != 0)
    return systemError(errno, "cannot enable io_uring");
  enabled_ = true;
  return {};
}

void UringEngine::prepare(io_uring_sqe *sqe, unsigned slot) const {
  Block next = block(slot);
  bool fixed = fixed_[static_cast<size_t>(next.file)];
  int file = fixed ? next.file : descriptor(next.file);
  auto bytes = static_cast<unsigned>(next.bytes);
  const Piece *piece = findPiece(next.data, next.bytes);
  int index = piece ? static_cast<int>(piece->index) : 0;
  switch (next.kind) {
  case Request::read:
    if (piece)
      io_uring_prep_read_fixed(sqe, file, next.data, bytes, next.offset, index);
    else
      io_uring_prep_read(sqe, file, next.data, bytes, next.offset);
    break;
  case Request::write:
    if (piece)
      io_uring_prep_write_fixed(sqe, file, next.data, bytes, next.offset, index);
    else
      io_uring_prep_write(sqe, file, next.data, bytes, next.offset);
    break;
  case Request::sync:
    io_uring_prep_fsync(sqe, file, IORING_FSYNC_DATASYNC);
    break;
  }
  if (fixed)
    io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
  io_uring_sqe_set_data64(sqe, slot);
}

void UringEngine::prepareBlocks() {
  while (std::optional<unsigned> slot = nextBlock())
    prepare(io_uring_get_sqe(&ring_), *slot);
}

Status UringEngine::start() {
  SPILLWAY_RETURN_IF_ERROR(enable());
  prepareBlocks();
  if (int code = io_uring_submit(&ring_);
      code < 0 && code != -EINTR && code != -EAGAIN && code != -EBUSY)
    return systemError(-code, "cannot submit to io_uring");
  return {};
}

void UringEngine::awaitWake() {
  io_uring_sqe *sqe = io_uring_get_sqe(&ring_);
  io_uring_prep_poll_add(sqe, wakeDescriptor_, POLLIN);
  io_uring_sqe_set_data64(sqe, wakeToken);
  waitsForWake_ = true;
}

Status UringEngine::enter(TimePoint until) {
  int code;
  if (until == noWait) {
    code = io_uring_submit_and_get_events(&ring_);
  } else if (until == forever) {
    code = io_uring_submit_and_wait(&ring_, 1);
  } else {
    __kernel_timespec time = timeUntil(until);
    io_uring_cqe *first;
    code = io_uring_submit_and_wait_timeout(&ring_, &first, 1, &time, nullptr);
  }
  if (code < 0 && code != -ETIME && code != -EINTR && code != -EAGAIN && code != -EBUSY)
    return systemError(-code, "cannot wait for io_uring");
  return {};
}

void UringEngine::reap() {
  unsigned head, seen = 0;
  io_uring_cqe *cqe;
  io_uring_for_each_cqe(&ring_, head, cqe) {
    ++seen;
    if (cqe->user_data == wakeToken) {
      uint64_t count;
      woken_ |= read(wakeDescriptor_, &count, sizeof(count)) == sizeof(count);
      waitsForWake_ = false;
    } else {
      finish(static_cast<unsigned>(cqe->user_data), cqe->res);
    }
  }
  io_uring_cq_advance(&ring_, seen);
}

Status UringEngine::poll(std::vector<Completion> &completions, TimePoint until) {
  SPILLWAY_RETURN_IF_ERROR(enable());
  if (!waitsForWake_)
    awaitWake();
  reap();
  if (until == noWait && !hasCompletions()) {
    SPILLWAY_RETURN_IF_ERROR(enter(noWait));
    reap();
  }
  prepareBlocks();
  while (until != noWait && !hasCompletions() && !woken_ &&
         (until == forever || Clock::now() < until)) {
    if (!waitsForWake_)
      awaitWake();
    SPILLWAY_RETURN_IF_ERROR(enter(until));
    reap();
    prepareBlocks();
  }
  if (until != noWait)
    woken_ = false;
  takeCompletions(completions);
  return start();
}

void UringEngine::wake() {
  uint64_t one = 1;
  // Fails only where a wake is pending already.
  [[maybe_unused]] ssize_t written = write(wakeDescriptor_, &one, sizeof(one));
}

} // namespace spillway::io
