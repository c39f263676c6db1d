// One step on a machine, call by call: the planner's quick model of what the
// simulator does with the whole table.
#pragma once

#include "spillway/Plan/Planner.h"
#include "spillway/Plan/Prefetch.h"

#include <deque>

namespace spillway::plan {

class Timeline {
public:
  /// Bytes that may still be made resident on the way.
  struct Spare {
    uint64_t compute = 0, host = 0;
  };

  Timeline(const Step &step, const Machine &machine, Placement &placement, bool hasHostTier)
      : step_(step), machine_(machine), placement_(placement), hasHostTier_(hasHostTier),
        prefetcher_(placement.stagingBytes, placement.hostStagingBytes, step.room), outgoing_(placement.hostOutgoingBytes),
        writtenAt_(step.offloaded.size()), restoredAt_(step.offloaded.size()) {}

  /// Runs the step. Where a call would wait for a tile that streams, and `spare` has room for
  /// it, makes it resident in `placement` instead: so both the calls and the transfers keep
  /// going until the room is used up. Sets placement.seconds; false where the staging is too small.
  bool run(Spare spare);

private:
  struct Tile {
    uint32_t state;
    uint32_t index;
    /// Where it stays whole, and where it is gathered from the parts of all ranks.
    uint64_t bytes, gatheredBytes;
    /// Of this rank's part: read, held below, and moved up.
    uint64_t partBytes;
    bool isPartitioned;
    /// Nothing of it is read.
    bool isBlank;
  };

  /// A value that comes back from the drive: it is issued behind a look-up or part of a call, and may start then.
  struct Restore {
    uint32_t value;
    int64_t issuedAfter;
    double ready;
  };

  /// What a part of a call takes that streams.
  struct Piece {
    std::vector<Tile> tiles;
    PieceIssue issue;
  };

  void end(double ended, double freed);
  /// Of values that begin to come back before a moment.
  void issueRestores(const StepMoment &moment);
  /// Reads values that come back, as far as they were issued before what follows another look-up or part of a call.
  void restoreBefore(int64_t part);
  /// When what a moment finds on the drive has been written.
  double settledAt(const StepMoment &moment) const;
  /// When that, and what the moment takes from there, has been moved.
  double transfersEnd(const StepMoment &moment);
  void runLookup(const StepMoment &moment);
  /// False where the staging is too small.
  bool runCall(const StepMoment &moment);
  bool runPart(const StepMoment &moment, uint64_t part);
  uint64_t partsOf(const StepMoment &moment) const;
  double fractionOf(const StepMoment &moment, uint64_t part) const;
  Tile tileOf(const StepMoment &moment, uint32_t state, uint64_t part) const;
  /// Makes a tile resident where waiting for it would hold up the part.
  void considerKeeping(const Tile &tile, const StepMoment &moment, uint64_t part, double partReady);
  /// When what the part at hand takes that streams is there; none where the staging is too small.
  std::optional<double> bringIn(const StepMoment &moment, uint64_t part);
  double bringIn(const std::vector<Tile> &tiles, const PieceIssue &issued);
  /// What a part of `moment` takes, which is part `index` of all look-ups and parts of calls, behind the look-up `lastLookup`.
  StagedPiece pieceOf(const std::vector<Tile> &tiles, const StepMoment &moment, uint64_t part, int64_t index, int64_t lastLookup);
  /// Finds the next piece that has not been brought in; false where the staging is too small.
  bool lookAhead();
  /// Brings in the pieces that were issued no later than behind a look-up or part of a call.
  void bringInUntil(int64_t part);
  /// Sends a transfer that may start at `ready` down a channel that takes one at a time; its end.
  static double send(const Channel &channel, double &free, double ready, uint64_t bytes);
  /// Sends a transfer that may start at `ready` down the read channel; its end.
  double read(double ready, double seconds, uint64_t bytes);
  /// Sends what a call that ended at `ready` has rewritten of what streams home; when the last of it has left
  /// the staging where kernels compute. None where the staging is too small.
  std::optional<double> bringHome(const StepMoment &moment, double ready);
  std::optional<double> bringHome(const Tile &tile, double ready);
  /// Sends a transfer that may start at `ready` down the write channel; its end.
  double write(double ready, uint64_t bytes);
  bool isWhollyResident(uint32_t state) const;
  Home &home(const Tile &tile) { return placement_.homes[tile.state][tile.index]; }
  double freedAt(int64_t moment) const { return moment < 0 ? 0 : freed_[moment]; }
  const Channel &readChannel() const { return machine_.channels[1]; }
  const Channel &writeChannel() const { return machine_.channels[2]; }
  const Channel &copyChannel() const { return machine_.channels[3]; }
  const Channel &copyDownChannel() const { return machine_.channels[4]; }
  const Channel &gatherChannel() const { return machine_.channels[5]; }

  const Step &step_;
  const Machine &machine_;
  Placement &placement_;
  bool hasHostTier_;
  Spare spare_;
  Prefetcher prefetcher_;
  StagingRing outgoing_;
  /// When each piece that went through `outgoing_`, and all before it, have been written.
  std::vector<double> outgoingEnds_;

  /// When each look-up and each part of a call has ended, and when the staging that it took is free:
  /// what it, and those before it, have rewritten has gone home.
  std::vector<double> ends_, freed_;
  /// When each staged piece has gone up from the host.
  std::vector<double> moveEnds_;
  double computeFree_ = 0;
  /// When the look-ups that no call has waited for yet have ended.
  double lookupsEnd_ = 0;
  int64_t lastLookup_ = -1;
  double readStart_ = 0, readFree_ = 0, copyFree_ = 0, gatherFree_ = 0, copyDownFree_ = 0, writeFree_ = 0,
         writesEnd_ = 0;
  double readBytes_ = 0, writtenBytes_ = 0;
  /// Of values that wait on the drive: when they were written, and when read; and those that are not read yet.
  std::vector<double> writtenAt_, restoredAt_;
  std::deque<Restore> restores_;

  /// Transfers of values and of states take turns on a channel, in the order in which they are issued; so where values
  /// come back, states are brought in ahead of the call that takes them: up to the next piece, at this moment and
  /// part, that part of all, and behind this look-up.
  bool looksAhead_ = false;
  std::optional<Piece> ahead_;
  size_t aheadMoment_ = 0;
  uint64_t aheadPart_ = 0;
  int64_t aheadIndex_ = 0, aheadLookup_ = -1;
  /// When the pieces were there that no call has taken yet.
  std::deque<double> arrivals_;
  std::vector<Tile> staged_;
};

} // namespace spillway::plan
