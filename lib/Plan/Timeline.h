// One step on a machine, call by call: the planner's quick model of what the
// simulator does with the whole table.
#pragma once

#include "spillway/Plan/CarriedBytes.h"
#include "spillway/Plan/DriveTime.h"
#include "spillway/Plan/Planner.h"
#include "spillway/Plan/Prefetch.h"

#include <algorithm>
#include <deque>

namespace spillway::plan {

class Timeline {
public:
  /// Bytes that may still be made resident on the way.
  struct Spare {
    uint64_t compute = 0, host = 0;
  };

  /// New values that are still on their way to the drive when a step has ended; times count from its end.
  struct Carried {
    /// By whose bytes they are written from: a staged piece's where kernels compute, a tile's in the host below them.
    CarriedBytes staged, outgoing;
    std::vector<double> stagedEnds, outgoingEnds;
    /// By state and tile.
    std::vector<std::vector<double>> tileEnds;
    /// When the write channel is free, and when the drive is.
    double writesFree = 0;
    std::optional<DriveTime> drive;
  };

  /// Behind a step that has carried `before`, which outlives this; null: behind none.
  Timeline(const Step &step, const Machine &machine, Placement &placement, bool hasHostTier,
           const Carried *before = nullptr)
      : step_(step), machine_(machine), placement_(placement), hasHostTier_(hasHostTier), before_(before),
        prefetcher_(placement.stagingBytes, placement.hostStagingBytes, step.room), outgoing_(placement.hostOutgoingBytes),
        writtenAt_(step.offloaded.size()), restoredAt_(step.offloaded.size()),
        drive_(before && before->drive ? *before->drive : DriveTime(machine)) {
    if (before_) {
      roomLeft_ = stagingLeft_ = before_->staged;
      outgoingLeft_ = before_->outgoing;
      writeFree_ = before_->writesFree;
    }
  }

  /// Runs a step behind another one, and sets placement.seconds. The seconds of one into which nothing is carried; none
  /// where these are not below `secondsBelow`, or the staging is too small.
  static std::optional<double> runBehindAnother(const Step &step, const Machine &machine, Placement &placement,
                                                bool hasHostTier, double secondsBelow);

  /// Runs the step. Where a call would wait for a tile that streams, and `spare` has room for
  /// it, makes it resident in `placement` instead: so both the calls and the transfers keep
  /// going until the room is used up. False where the staging is too small.
  static bool keepLate(const Step &step, const Machine &machine, Placement &placement, bool hasHostTier, Spare spare,
                       bool behindAnother);

private:
  /// With what there is to spare to keep what is late.
  bool run(Spare spare);
  /// After a run: what it carries into the next step.
  Carried carried() const;

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

  /// When a piece is there, and the bytes of its slot.
  struct Arrival {
    double time;
    uint64_t begin, end;
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
  /// Makes all of a state whose rows are looked up resident where what the step before has carried of it would hold up
  /// the look-up.
  void considerKeepingRows(uint32_t state, double lookupReady);
  /// Makes a tile resident where waiting for it would hold up the part.
  void considerKeeping(const Tile &tile, const StepMoment &moment, uint64_t part, double partReady);
  /// When what the part at hand takes that streams is there; none where the staging is too small.
  std::optional<double> bringIn(const StepMoment &moment, uint64_t part);
  Arrival bringIn(const std::vector<Tile> &tiles, const PieceIssue &issued);
  /// Of the piece that is taken now.
  double noteArrival(const Arrival &arrival);
  /// What a part of `moment` takes, which is part `index` of all look-ups and parts of calls, behind the look-up `lastLookup`.
  StagedPiece pieceOf(const std::vector<Tile> &tiles, const StepMoment &moment, uint64_t part, int64_t index, int64_t lastLookup);
  /// Finds the next piece that has not been brought in; no more of them where the staging is too small.
  void lookAhead();
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
  /// Of what the step before has carried, the end of what must have been written before a moment computes.
  double carriedEnd(const StepMoment &moment, bool forgets);
  /// The end of these transfers, 0 where there are none.
  static double lastEnd(const std::vector<uint32_t> &numbers, const std::vector<double> &ends);
  /// When the step has ended, but for what it carries.
  double stepEnd() const { return std::max({computeFree_, lookupsEnd_, copyDownFree_, offloadsEnd_}); }
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
  const Carried *before_;
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
  double readStart_ = 0, readFree_ = 0, copyFree_ = 0, gatherFree_ = 0, copyDownFree_ = 0, writeFree_ = 0;
  /// From the drive, and to it.
  Moved fromDrive_, toDrive_;
  /// When the last value that waits on the drive is there.
  double offloadsEnd_ = 0;
  /// Of what the step before has carried: bytes that nothing has been computed over yet, that nothing has been staged
  /// over yet, and that nothing has gone down through.
  CarriedBytes roomLeft_, stagingLeft_, outgoingLeft_;
  uint64_t roomSeen_ = 0;
  /// What this step writes, and where the piece at hand lies.
  Carried written_;
  uint64_t pieceBegin_ = 0, pieceEnd_ = 0;
  /// Of values that wait on the drive: when they were written, and when read; and those that are not read yet.
  std::vector<double> writtenAt_, restoredAt_;
  std::deque<Restore> restores_;
  DriveTime drive_;

  /// Transfers take turns on a channel and on the drive, in the order in which they are issued; so states are brought in
  /// ahead of the call that takes them: up to the next piece, at this moment and part, that part of all, and behind
  /// this look-up. Where that cannot be (see run()), reads and writes share the drive in about that order.
  bool looksAhead_ = false;
  std::optional<Piece> ahead_;
  size_t aheadMoment_ = 0;
  uint64_t aheadPart_ = 0;
  int64_t aheadIndex_ = 0, aheadLookup_ = -1;
  /// When the pieces were there that no call has taken yet.
  std::deque<Arrival> arrivals_;
  std::vector<Tile> staged_;
};

} // namespace spillway::plan
