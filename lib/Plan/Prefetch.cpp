#include "spillway/Plan/Prefetch.h"

#include <algorithm>

using namespace spillway::plan;

std::optional<PieceIssue> Prefetcher::next(const StagedPiece &piece) {
  PieceIssue issue;
  auto slot = staging_.place(piece.bytes, userOf(piece));
  if (!slot)
    return std::nullopt;
  issue.moveAfter = lastMove_ = std::max({lastMove_, slot->after, piece.notBefore});
  issue.fetchAfter = issue.moveAfter;
  issue.freedBy = slot->after;
  issue.offset = slot->offset;
  if (piece.hostBytes) {
    auto hostSlot = hostStaging_.place(piece.hostBytes, {.number = count_});
    if (!hostSlot)
      return std::nullopt;
    issue.movedBefore = hostSlot->after;
    int64_t free = hostSlot->after < 0 ? lastFetch_ : moveAfter_[hostSlot->after];
    issue.fetchAfter = lastFetch_ = std::max({lastFetch_, free, piece.notBefore});
  }
  moveAfter_.push_back(issue.moveAfter);
  ++count_;
  return issue;
}
