#include "runtime/session/InProcessJob.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Size.h"

#include <algorithm>

namespace spillway {

namespace {
/// Longer than an executor waits for a drive, so that the rank whose drive is stuck
/// is the one that is named.
constexpr std::chrono::seconds collectiveTimeout{120};

SessionOptions optionsOf(const SessionOptions &options, uint32_t rank, const Manifest &manifest) {
  SessionOptions own = options;
  if (!own.threads && manifest.ranks > 1)
    own.threads = std::max(1u, std::min(availableProcessors() / manifest.ranks, manifest.threads));
  if (rank + 1 != manifest.ranks)
    own.readFault.reset();
  return own;
}
} // namespace

Result<InProcessJob> InProcessJob::open(const std::filesystem::path &folder,
                                        const SessionOptions &options) {
  SPILLWAY_ASSIGN_OR_RETURN(Bundle bundle, Bundle::open(folder));
  uint32_t ranks = bundle.manifest().ranks;
  InProcessJob job;
  job.communicators_ = createInProcessCommunicators(ranks, collectiveTimeout);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    SessionOptions own = optionsOf(options, rank, bundle.manifest());
    own.communicator = job.communicators_[rank].get();
    SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::open(bundle, own));
    job.sessions_.push_back(std::move(session));
  }
  return job;
}

Status InProcessJob::requireMemory() const {
  uint64_t needed = 0;
  for (const std::unique_ptr<Session> &session : sessions_)
    for (uint64_t bytes : session->program().arenaBytes)
      needed += bytes;
  Memory memory = machineMemory();
  // An engine may have made the arenas resident when it registered them.
  if (needed <= memory.available + std::min(memory.own, needed))
    return {};
  return machineError("a step of '{}' computes in {} of memory; this machine has {}, {} of them free. "
                      "`spillway replan --memory SIZE` plans for less",
                      sessions_.front()->bundle().folder().string(), formatSize(needed),
                      formatSize(memory.total), formatSize(memory.available));
}

Status InProcessJob::run(const std::function<Status(Session &, uint32_t)> &body) {
  std::vector<Status> statuses(size());
  auto runRank = [&](uint32_t rank) {
    statuses[rank] = body(*sessions_[rank], rank);
    if (!statuses[rank].ok())
      communicators_[rank]->abort(statuses[rank].error());
  };
  std::vector<Thread> threads;
  for (uint32_t rank = 1; rank < size(); ++rank) {
    Result<Thread> thread = Thread::start("sw-rank", [&, rank] { runRank(rank); });
    if (!thread.ok()) {
      communicators_[rank]->abort(thread.error());
      statuses[rank] = std::move(thread).error();
      break;
    }
    threads.push_back(*std::move(thread));
  }
  runRank(0);
  threads.clear();
  for (uint32_t rank = 0; rank < size(); ++rank)
    if (!statuses[rank].ok()) {
      Error error = std::move(statuses[rank]).error();
      return size() == 1 ? error : std::move(error).in(fmt::format("rank {}", rank));
    }
  return {};
}

} // namespace spillway
