// When each streamed piece of a step may start to come in.
#pragma once

#include "spillway/Plan/StagingRing.h"

#include <vector>

namespace spillway::plan {

/// What one call takes that does not stay where kernels compute. All of it lies
/// in one slot.
struct StagedPiece {
  /// The call that takes it, among calls and look-ups in order.
  int64_t moment = 0;
  /// Of the staging where kernels compute.
  uint64_t bytes = 0;
  /// Of the staging below it, for what comes from NVMe through the host into
  /// device memory; 0 where nothing does.
  uint64_t hostBytes = 0;
  /// The last look-up before the call: the piece does not overtake it.
  int64_t notBefore = -1;
  /// The call among those of the step before it is tiled, look-ups included; and whether this is the last part of it.
  int64_t wholeMoment = 0;
  bool isLastPart = true;
  /// Whether the call rewrites states.
  bool rewrites = false;
};

struct PieceIssue {
  /// The moment after which a piece starts its way: from NVMe, where it comes from there.
  int64_t fetchAfter = -1;
  /// The moment after which it may enter the staging where kernels compute; equal
  /// to fetchAfter where there is no tier between.
  int64_t moveAfter = -1;
  /// The call that must have ended before the piece enters the staging where kernels
  /// compute; negative: none.
  int64_t freedBy = -1;
  /// The piece whose move must have been issued before the fetch; negative: none.
  int64_t movedBefore = -1;
  /// Where its slot begins in the staging where kernels compute.
  uint64_t offset = 0;
};

/// Decides for pieces one after another, in the order of the calls.
class Prefetcher {
public:
  /// `room` lies below the staging where kernels compute, and outlives this.
  Prefetcher(uint64_t stagingBytes, uint64_t hostStagingBytes, const SharedRoom &room)
      : staging_(stagingBytes, &room), hostStaging_(hostStagingBytes) {}

  /// None where the piece exceeds the staging.
  std::optional<PieceIssue> next(const StagedPiece &piece);

  /// The slot of a next piece where kernels compute; none where it exceeds the staging.
  std::optional<StagingRing::Slot> peek(const StagedPiece &piece) const { return staging_.peek(piece.bytes, userOf(piece)); }

private:
  static StagingRing::User userOf(const StagedPiece &piece) {
    return {.number = piece.moment,
            .moment = piece.wholeMoment,
            .endsMoment = piece.isLastPart,
            .share = piece.rewrites ? StagingRing::Share::whileWritten : StagingRing::Share::whileUsed};
  }

  StagingRing staging_, hostStaging_;
  int64_t lastFetch_ = -1, lastMove_ = -1;
  std::vector<int64_t> moveAfter_;
  int64_t count_ = 0;
};

} // namespace spillway::plan
