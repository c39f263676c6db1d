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
  // Where homes may change on the way, nothing is known ahead.
  looksAhead_ = !step_.offloaded.empty() && spare.compute == 0 && spare.host == 0;
  placement_.awaited.clear();
  for (const std::vector<Home> &homes : placement_.homes)
    placement_.awaited.emplace_back(homes.size());
  for (const StepMoment &moment : step_.moments) {
    issueRestores(moment);
    if (moment.lookupState)
      runLookup(moment);
    else if (!runCall(moment))
      return false;
    for (uint32_t value : moment.written)
      writtenAt_[value] = write(ends_.back(), step_.offloaded[value]);
  }
  placement_.seconds = std::max({computeFree_, lookupsEnd_, copyDownFree_, writesEnd_,
                                 driveSeconds(machine_, readBytes_, writtenBytes_)});
  return true;
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
  readBytes_ += static_cast<double>(bytes);
  readStart_ = std::max(readStart_, ready);
  readFree_ = std::max(readStart_, readFree_) + seconds;
  return readFree_ + readChannel().latencySeconds;
}

double Timeline::write(double ready, uint64_t bytes) {
  writtenBytes_ += static_cast<double>(bytes);
  writeFree_ = std::max(writeFree_, ready) + channelSeconds(writeChannel(), static_cast<double>(bytes));
  writesEnd_ = writeFree_ + writeChannel().latencySeconds;
  return writesEnd_;
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
  return freed;
}

std::optional<double> Timeline::bringHome(const Tile &tile, double ready) {
  if (!hasHostTier_)
    return write(ready, tile.bytes);
  if (home(tile) == Home::host)
    return send(copyDownChannel(), copyDownFree_, ready, tile.bytes);
  auto slot = outgoing_.place(tile.bytes, {.number = static_cast<int64_t>(outgoingEnds_.size())});
  if (!slot)
    return std::nullopt;
  double free = slot->after < 0 ? 0 : outgoingEnds_[slot->after];
  double left = send(copyDownChannel(), copyDownFree_, std::max(ready, free), tile.bytes);
  double written = write(left, tile.bytes);
  outgoingEnds_.push_back(outgoingEnds_.empty() ? written : std::max(outgoingEnds_.back(), written));
  return left;
}

void Timeline::issueRestores(const StepMoment &moment) {
  if (moment.restored.empty())
    return;
  double ready = std::max(ends_.back(), settledAt(moment));
  for (uint32_t value : moment.restored)
    restores_.push_back({value, static_cast<int64_t>(ends_.size()) - 1, ready});
}

void Timeline::restoreBefore(int64_t part) {
  for (; !restores_.empty() && restores_.front().issuedAfter < part; restores_.pop_front()) {
    auto [value, issuedAfter, ready] = restores_.front();
    if (looksAhead_)
      bringInUntil(issuedAfter);
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
}

void Timeline::runLookup(const StepMoment &moment) {
  double ready = std::max({computeFree_, lookupsEnd_, transfersEnd(moment)});
  auto part = static_cast<int64_t>(ends_.size());
  lastLookup_ = part;
  if (isWhollyResident(*moment.lookupState)) {
    computeFree_ = ready + residentLookupSeconds(
                               machine_, static_cast<double>(moment.lookupResultBytes));
    lookupsEnd_ = 0;
    end(computeFree_, computeFree_);
    return;
  }
  restoreBefore(part);
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
  ready = std::max(ready, transfersEnd(moment));
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

void Timeline::considerKeeping(const Tile &tile, const StepMoment &moment, uint64_t part, double partReady) {
  if (spare_.compute < tile.bytes && spare_.host < tile.partBytes)
    return;
  auto bytes = static_cast<double>(tile.partBytes);
  auto freedBy = prefetcher_.peekFreedBy(pieceOf({tile}, moment, part, static_cast<int64_t>(ends_.size()), lastLookup_));
  double there = freedBy ? freedAt(*freedBy) : 0;
  bool readIsLate = false;
  if (home(tile) == Home::nvme && !tile.isBlank) {
    there = std::max({there, readStart_, readFree_}) + channelSeconds(readChannel(), bytes) +
            readChannel().latencySeconds;
    readIsLate = there > partReady;
  }
  double copyFree = copyFree_, gatherFree = gatherFree_;
  if (hasHostTier_ && !tile.isBlank)
    there = send(copyChannel(), copyFree, there, tile.partBytes);
  if (tile.isPartitioned)
    there = send(gatherChannel(), gatherFree, there, tile.gatheredBytes);
  if (freedBy && there <= partReady)
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
    return bringIn(staged_, *issued);
  }
  if (arrivals_.empty()) {
    if (!lookAhead())
      return std::nullopt;
    restoreBefore(ahead_->issue.fetchAfter);
    arrivals_.push_back(bringIn(ahead_->tiles, ahead_->issue));
    ahead_.reset();
  }
  double there = arrivals_.front();
  arrivals_.pop_front();
  return there;
}

bool Timeline::lookAhead() {
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
      if (!issued)
        return false;
      ahead_ = Piece{std::move(tiles), *issued};
      return true;
    }
  }
  return true;
}

void Timeline::bringInUntil(int64_t part) {
  while (lookAhead() && ahead_ && ahead_->issue.fetchAfter <= part) {
    arrivals_.push_back(bringIn(ahead_->tiles, ahead_->issue));
    ahead_.reset();
  }
}

double Timeline::bringIn(const std::vector<Tile> &tiles, const PieceIssue &issued) {
  double free = freedAt(issued.freedBy), there = 0;
  double hostFree = issued.movedBefore < 0 ? 0 : moveEnds_[issued.movedBefore];
  for (const Tile &tile : tiles) {
    double arrived = tile.isBlank ? free : 0;
    if (home(tile) == Home::nvme && !tile.isBlank)
      arrived = read(hasHostTier_ ? hostFree : free,
                     channelSeconds(readChannel(), static_cast<double>(tile.partBytes)), tile.partBytes);
    if (hasHostTier_ && !tile.isBlank)
      arrived = send(copyChannel(), copyFree_, std::max(free, arrived), tile.partBytes);
    if (tile.isPartitioned)
      arrived = send(gatherChannel(), gatherFree_, arrived, tile.gatheredBytes);
    there = std::max(there, arrived);
  }
  moveEnds_.push_back(copyFree_);
  return there;
}
