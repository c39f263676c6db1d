#include "Timeline.h"

#include <algorithm>

using namespace spillway::plan;

uint64_t StepState::extent(uint64_t beginUnit, uint64_t endUnit) const {
  uint64_t bytes = (endUnit - beginUnit) * unitBytes;
  return StagingRing::slotBytes(endUnit == units ? bytes - std::min(bytes, missingBytes) : bytes);
}

uint64_t StepState::partExtent(uint64_t beginUnit, uint64_t endUnit) const {
  if (ranks == 1)
    return extent(beginUnit, endUnit);
  uint64_t share = (endUnit - beginUnit + ranks - 1) / ranks;
  return (share + chunkUnits - 1) / chunkUnits * chunkUnits * unitBytes;
}

uint64_t StepMoment::workingBytes() const {
  uint64_t bytes = 0;
  for (const auto &[name, size] : working)
    bytes += size;
  return bytes;
}

bool Timeline::run(Spare spare) {
  spare_ = spare;
  // Where homes may change on the way, nothing is known ahead. Below a device a piece may be read before its bytes there are free.
  looksAhead_ = !hasHostTier_ && spare.compute == 0 && spare.host == 0;
  placement_.awaited.clear();
  for (const std::vector<Home> &homes : placement_.homes) {
    placement_.awaited.emplace_back(homes.size());
    written_.tileEnds.emplace_back(homes.size());
  }
  bringInUntil(-1);
  for (const StepMoment &moment : step_.moments) {
    issueRestores(moment);
    if (moment.lookupState)
      runLookup(moment);
    else if (!runCall(moment))
      return false;
    for (uint32_t value : moment.written)
      offloadsEnd_ = writtenAt_[value] = write(ends_.back(), step_.offloaded[value]);
  }
  // As the simulator: what is carried into a step delays what it carries out.
  placement_.seconds = std::max({stepEnd(), toDrive_.seconds, driveSeconds(machine_, fromDrive_, toDrive_)});
  return true;
}

std::optional<double> Timeline::runBehindAnother(const Step &step, const Machine &machine, Placement &placement,
                                                 bool hasHostTier, double secondsBelow) {
  Timeline first(step, machine, placement, hasHostTier);
  if (!first.run({}) || placement.seconds >= secondsBelow)
    return std::nullopt;
  double alone = placement.seconds;
  if (first.toDrive_.seconds != 0) {
    Carried carried = first.carried();
    Timeline(step, machine, placement, hasHostTier, &carried).run({});
  }
  return alone;
}

bool Timeline::keepLate(const Step &step, const Machine &machine, Placement &placement, bool hasHostTier, Spare spare,
                        bool behindAnother) {
  if (!behindAnother)
    return Timeline(step, machine, placement, hasHostTier).run(spare);
  Timeline first(step, machine, placement, hasHostTier);
  if (!first.run({}))
    return false;
  Carried carried = first.carried();
  return Timeline(step, machine, placement, hasHostTier, &carried).run(spare);
}

Timeline::Carried Timeline::carried() const {
  Carried carried = written_;
  double end = stepEnd();
  for (auto *ends : {&carried.stagedEnds, &carried.outgoingEnds})
    for (double &time : *ends)
      time -= end;
  for (std::vector<double> &ends : carried.tileEnds)
    for (double &time : ends)
      time -= end;
  carried.writesFree = std::max(0.0, writeFree_ - end);
  carried.drive = drive_;
  carried.drive->startAt(end);
  return carried;
}

double Timeline::lastEnd(const std::vector<uint32_t> &numbers, const std::vector<double> &ends) {
  double end = 0;
  for (uint32_t number : numbers)
    end = std::max(end, ends[number]);
  return end;
}

double Timeline::carriedEnd(const StepMoment &moment, bool forgets) {
  if (!before_ || step_.room.bytes() == 0)
    return 0;
  int64_t number = &moment - step_.moments.data();
  uint64_t taken = step_.room.takenBytes(number, number);
  if (taken <= roomSeen_)
    return 0;
  if (!forgets)
    return lastEnd(roomLeft_.find(0, taken), before_->stagedEnds);
  roomSeen_ = taken;
  return lastEnd(roomLeft_.take(0, taken), before_->stagedEnds);
}

bool Timeline::isWhollyResident(uint32_t state) const {
  return std::ranges::all_of(placement_.homes[state],
                             [](Home home) { return home == Home::compute; });
}

double Timeline::send(const Channel &channel, double &free, double ready, uint64_t bytes) {
  free = std::max(free, ready) + channel.latencySeconds +
         channelSeconds(channel, static_cast<double>(bytes));
  return free;
}

double Timeline::read(double ready, double seconds, uint64_t bytes) {
  fromDrive_.bytes += static_cast<double>(bytes);
  fromDrive_.seconds += seconds;
  readStart_ = std::max(readStart_, ready);
  readFree_ = drive_.take(std::max(readStart_, readFree_), seconds);
  return readFree_ + readChannel().latencySeconds;
}

double Timeline::write(double ready, uint64_t bytes) {
  double seconds = channelSeconds(writeChannel(), static_cast<double>(bytes));
  toDrive_.bytes += static_cast<double>(bytes);
  toDrive_.seconds += seconds;
  writeFree_ = drive_.take(std::max(writeFree_, ready), seconds);
  return writeFree_ + writeChannel().latencySeconds;
}

std::optional<double> Timeline::bringHome(const StepMoment &moment, double ready) {
  double freed = ready;
  for (const Tile &tile : staged_)
    if (std::ranges::find(moment.rewritten, tile.state) != moment.rewritten.end()) {
      auto left = bringHome(tile, ready);
      if (!left)
        return std::nullopt;
      freed = std::max(freed, *left);
    }
  if (!hasHostTier_ && freed > ready) {
    written_.staged.add(pieceBegin_, pieceEnd_, static_cast<uint32_t>(written_.stagedEnds.size()));
    written_.stagedEnds.push_back(freed);
  }
  return freed;
}

std::optional<double> Timeline::bringHome(const Tile &tile, double ready) {
  auto noteEnd = [&](double end) { return written_.tileEnds[tile.state][tile.index] = end; };
  if (!hasHostTier_)
    return noteEnd(write(ready, tile.bytes));
  if (home(tile) == Home::host)
    return send(copyDownChannel(), copyDownFree_, ready, tile.bytes);
  auto slot = outgoing_.place(tile.bytes, {.number = static_cast<int64_t>(outgoingEnds_.size())});
  if (!slot)
    return std::nullopt;
  double free = slot->after < 0 ? 0 : outgoingEnds_[slot->after];
  uint64_t slotEnd = slot->offset + StagingRing::slotBytes(tile.bytes);
  if (before_)
    free = std::max(free, lastEnd(outgoingLeft_.take(slot->offset, slotEnd), before_->outgoingEnds));
  double left = send(copyDownChannel(), copyDownFree_, std::max(ready, free), tile.bytes);
  double written = noteEnd(write(left, tile.bytes));
  written_.outgoing.add(slot->offset, slotEnd, static_cast<uint32_t>(written_.outgoingEnds.size()));
  written_.outgoingEnds.push_back(written);
  outgoingEnds_.push_back(outgoingEnds_.empty() ? written : std::max(outgoingEnds_.back(), written));
  return left;
}

void Timeline::issueRestores(const StepMoment &moment) {
  if (moment.restored.empty())
    return;
  double ready = std::max({ends_.back(), settledAt(moment), carriedEnd(moment, /*forgets=*/false)});
  for (uint32_t value : moment.restored)
    restores_.push_back({value, static_cast<int64_t>(ends_.size()) - 1, ready});
  if (looksAhead_)
    restoreBefore(static_cast<int64_t>(ends_.size()));
}

void Timeline::restoreBefore(int64_t part) {
  for (; !restores_.empty() && restores_.front().issuedAfter < part; restores_.pop_front()) {
    auto [value, issuedAfter, ready] = restores_.front();
    restoredAt_[value] = read(ready, channelSeconds(readChannel(), static_cast<double>(step_.offloaded[value])), step_.offloaded[value]);
  }
}

double Timeline::settledAt(const StepMoment &moment) const {
  double end = 0;
  for (uint32_t value : moment.settled)
    end = std::max(end, writtenAt_[value]);
  return end;
}

double Timeline::transfersEnd(const StepMoment &moment) {
  double end = settledAt(moment);
  if (!moment.taken.empty())
    restoreBefore(static_cast<int64_t>(ends_.size()));
  for (uint32_t value : moment.taken)
    end = std::max(end, restoredAt_[value]);
  return end;
}

void Timeline::end(double ended, double freed) {
  ends_.push_back(ended);
  freed_.push_back(freed_.empty() ? freed : std::max(freed, freed_.back()));
  bringInUntil(static_cast<int64_t>(ends_.size()) - 1);
}

void Timeline::runLookup(const StepMoment &moment) {
  double ready = std::max({computeFree_, lookupsEnd_, transfersEnd(moment), carriedEnd(moment, /*forgets=*/true)});
  auto part = static_cast<int64_t>(ends_.size());
  lastLookup_ = part;
  considerKeepingRows(*moment.lookupState, ready);
  if (isWhollyResident(*moment.lookupState)) {
    computeFree_ = ready + residentLookupSeconds(
                               machine_, static_cast<double>(moment.lookupResultBytes));
    lookupsEnd_ = 0;
    end(computeFree_, computeFree_);
    return;
  }
  restoreBefore(part);
  if (before_)
    ready = std::max(ready, std::ranges::max(before_->tileEnds[*moment.lookupState]));
  lookupsEnd_ = read(ready, lookupSeconds(readChannel(), moment.lookupCount,
                                          moment.lookupPieceBytes, moment.lookupStagingBytes),
                     moment.lookupCount * moment.lookupPieceBytes);
  end(lookupsEnd_, lookupsEnd_);
}

uint64_t Timeline::partsOf(const StepMoment &moment) const {
  for (uint32_t state : moment.states)
    if (uint64_t tileUnits = placement_.tileUnits[state])
      return (step_.states[state].units + tileUnits - 1) / tileUnits;
  return 1;
}

double Timeline::fractionOf(const StepMoment &moment, uint64_t part) const {
  for (uint32_t state : moment.states)
    if (uint64_t tileUnits = placement_.tileUnits[state], units = step_.states[state].units; tileUnits != 0)
      return static_cast<double>(std::min(tileUnits, units - part * tileUnits)) / static_cast<double>(units);
  return 1;
}

Timeline::Tile Timeline::tileOf(const StepMoment &moment, uint32_t index, uint64_t part) const {
  const StepState &state = step_.states[index];
  uint64_t tileUnits = placement_.tileUnits[index];
  uint64_t begin = tileUnits * part;
  uint64_t end = tileUnits ? std::min(begin + tileUnits, state.units) : state.units;
  bool isBlank = std::ranges::find(moment.blank, index) != moment.blank.end();
  return {index,
          tileUnits ? static_cast<uint32_t>(part) : 0,
          state.extent(begin, end),
          state.gatheredExtent(begin, end),
          state.partExtent(begin, end),
          state.ranks > 1,
          isBlank && !(end == state.units && state.endsInPadding)};
}

bool Timeline::runCall(const StepMoment &moment) {
  uint64_t parts = partsOf(moment);
  for (uint64_t part = 0; part < parts; ++part)
    if (!runPart(moment, part))
      return false;
  return true;
}

bool Timeline::runPart(const StepMoment &moment, uint64_t part) {
  double ready = std::max(computeFree_, lookupsEnd_);
  staged_.clear();
  for (uint32_t state : moment.states) {
    Tile tile = tileOf(moment, state, part);
    if (home(tile) != Home::compute)
      considerKeeping(tile, moment, part, ready);
    if (home(tile) != Home::compute)
      staged_.push_back(tile);
  }
  std::optional<double> there = staged_.empty() ? 0 : bringIn(moment, part);
  if (!there)
    return false;
  ready = std::max({ready, transfersEnd(moment), carriedEnd(moment, /*forgets=*/true)});
  if (*there > ready)
    for (const Tile &tile : staged_)
      placement_.awaited[tile.state][tile.index] = true;
  ready = std::max(ready, *there);
  computeFree_ = ready + launchSeconds(machine_, moment.cost, fractionOf(moment, part), step_.threads);
  lookupsEnd_ = 0;
  auto freed = bringHome(moment, computeFree_);
  if (!freed)
    return false;
  end(computeFree_, *freed);
  return true;
}

void Timeline::considerKeepingRows(uint32_t index, double lookupReady) {
  const StepState &state = step_.states[index];
  if (!before_ || isWhollyResident(index) || spare_.compute < state.extent() ||
      std::ranges::max(before_->tileEnds[index]) <= lookupReady)
    return;
  std::vector<Home> &homes = placement_.homes[index];
  for (size_t tile = 0; tile < homes.size(); ++tile) {
    if (homes[tile] == Home::compute)
      continue;
    uint64_t units = placement_.tileUnits[index], begin = units * tile;
    uint64_t bytes = state.extent(begin, units ? std::min(begin + units, state.units) : state.units);
    homes[tile] = Home::compute;
    placement_.kept[index][tile] = Kept::late;
    spare_.compute -= bytes;
    placement_.residentBytes += bytes;
  }
}

void Timeline::considerKeeping(const Tile &tile, const StepMoment &moment, uint64_t part, double partReady) {
  if (spare_.compute < tile.bytes && spare_.host < tile.partBytes)
    return;
  auto bytes = static_cast<double>(tile.partBytes);
  auto slot = prefetcher_.peek(pieceOf({tile}, moment, part, static_cast<int64_t>(ends_.size()), lastLookup_));
  double there = slot ? freedAt(slot->after) : 0;
  if (slot && before_ && !hasHostTier_)
    there = std::max(there, lastEnd(stagingLeft_.find(slot->offset, slot->offset + StagingRing::slotBytes(tile.gatheredBytes)),
                                    before_->stagedEnds));
  if (before_)
    there = std::max(there, before_->tileEnds[tile.state][tile.index]);
  bool readIsLate = false;
  if (home(tile) == Home::nvme && !tile.isBlank) {
    there = drive_.endOf(std::max({there, readStart_, readFree_}), channelSeconds(readChannel(), bytes)) +
            readChannel().latencySeconds;
    readIsLate = there > partReady;
  }
  double copyFree = copyFree_, gatherFree = gatherFree_;
  if (hasHostTier_ && !tile.isBlank)
    there = send(copyChannel(), copyFree, there, tile.partBytes);
  if (tile.isPartitioned)
    there = send(gatherChannel(), gatherFree, there, tile.gatheredBytes);
  if (slot && there <= partReady)
    return;
  if (tile.bytes <= spare_.compute) {
    home(tile) = Home::compute;
    placement_.kept[tile.state][tile.index] = Kept::late;
    spare_.compute -= tile.bytes;
    placement_.residentBytes += tile.bytes;
  } else if (readIsLate) {
    home(tile) = Home::host;
    placement_.kept[tile.state][tile.index] = Kept::late;
    spare_.host -= tile.partBytes;
    placement_.hostResidentBytes += tile.partBytes;
  }
}

StagedPiece Timeline::pieceOf(const std::vector<Tile> &tiles, const StepMoment &moment, uint64_t part, int64_t index,
                              int64_t lastLookup) {
  StagedPiece piece;
  piece.moment = index;
  piece.notBefore = lastLookup;
  piece.wholeMoment = &moment - step_.moments.data();
  piece.isLastPart = part + 1 == partsOf(moment);
  piece.rewrites = !moment.rewritten.empty();
  for (const Tile &tile : tiles) {
    piece.bytes += tile.gatheredBytes;
    if (hasHostTier_ && home(tile) == Home::nvme && !tile.isBlank)
      piece.hostBytes += tile.partBytes;
  }
  return piece;
}

std::optional<double> Timeline::bringIn(const StepMoment &moment, uint64_t part) {
  if (!looksAhead_) {
    auto issued = prefetcher_.next(pieceOf(staged_, moment, part, static_cast<int64_t>(ends_.size()), lastLookup_));
    if (!issued)
      return std::nullopt;
    restoreBefore(issued->fetchAfter);
    return noteArrival(bringIn(staged_, *issued));
  }
  // Each piece is issued before it is taken, unless the staging is too small.
  if (arrivals_.empty())
    return std::nullopt;
  Arrival arrival = arrivals_.front();
  arrivals_.pop_front();
  return noteArrival(arrival);
}

double Timeline::noteArrival(const Arrival &arrival) {
  pieceBegin_ = arrival.begin;
  pieceEnd_ = arrival.end;
  return arrival.time;
}

void Timeline::lookAhead() {
  for (; !ahead_ && aheadMoment_ < step_.moments.size(); ++aheadMoment_, aheadPart_ = 0) {
    const StepMoment &moment = step_.moments[aheadMoment_];
    if (moment.lookupState) {
      aheadLookup_ = aheadIndex_++;
      continue;
    }
    for (uint64_t parts = partsOf(moment); aheadPart_ < parts;) {
      std::vector<Tile> tiles;
      for (uint32_t state : moment.states)
        if (Tile tile = tileOf(moment, state, aheadPart_); home(tile) != Home::compute)
          tiles.push_back(tile);
      uint64_t part = aheadPart_++;
      int64_t index = aheadIndex_++;
      if (tiles.empty())
        continue;
      auto issued = prefetcher_.next(pieceOf(tiles, moment, part, index, aheadLookup_));
      if (!issued) {
        aheadMoment_ = step_.moments.size();
        return;
      }
      ahead_ = Piece{std::move(tiles), *issued};
      return;
    }
  }
}

void Timeline::bringInUntil(int64_t part) {
  if (!looksAhead_)
    return;
  for (lookAhead(); ahead_ && ahead_->issue.fetchAfter <= part; lookAhead()) {
    arrivals_.push_back(bringIn(ahead_->tiles, ahead_->issue));
    ahead_.reset();
  }
}

Timeline::Arrival Timeline::bringIn(const std::vector<Tile> &tiles, const PieceIssue &issued) {
  double free = freedAt(issued.freedBy), there = 0;
  double hostFree = issued.movedBefore < 0 ? 0 : moveEnds_[issued.movedBefore];
  uint64_t pieceEnd = issued.offset;
  for (const Tile &tile : tiles)
    pieceEnd += StagingRing::slotBytes(tile.gatheredBytes);
  if (before_ && !hasHostTier_)
    free = std::max(free, lastEnd(stagingLeft_.take(issued.offset, pieceEnd), before_->stagedEnds));
  for (const Tile &tile : tiles) {
    double arrived = tile.isBlank ? free : 0;
    if (home(tile) == Home::nvme && !tile.isBlank) {
      double ready = hasHostTier_ ? hostFree : free;
      if (before_)
        ready = std::max(ready, before_->tileEnds[tile.state][tile.index]);
      arrived = read(ready, channelSeconds(readChannel(), static_cast<double>(tile.partBytes)), tile.partBytes);
    }
    if (hasHostTier_ && !tile.isBlank)
      arrived = send(copyChannel(), copyFree_, std::max(free, arrived), tile.partBytes);
    if (tile.isPartitioned)
      arrived = send(gatherChannel(), gatherFree_, arrived, tile.gatheredBytes);
    there = std::max(there, arrived);
  }
  moveEnds_.push_back(copyFree_);
  return {there, issued.offset, pieceEnd};
}
