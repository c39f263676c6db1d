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
  placement_.awaited.clear();
  for (const std::vector<Home> &homes : placement_.homes)
    placement_.awaited.emplace_back(homes.size());
  for (const StepMoment &moment : step_.moments) {
    if (moment.lookupState)
      runLookup(moment);
    else if (!runCall(moment))
      return false;
  }
  placement_.seconds = std::max({computeFree_, lookupsEnd_, copyDownFree_, writeFree_});
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

double Timeline::read(double ready, double seconds) {
  readStart_ = std::max(readStart_, ready);
  readFree_ = std::max(readStart_, readFree_) + seconds;
  return readFree_ + readChannel().latencySeconds;
}

double Timeline::write(double ready, uint64_t bytes) {
  writeFree_ = std::max(writeFree_, ready) + channelSeconds(writeChannel(), static_cast<double>(bytes));
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
  return freed;
}

std::optional<double> Timeline::bringHome(const Tile &tile, double ready) {
  if (!hasHostTier_)
    return write(ready, tile.bytes);
  if (home(tile) == Home::host)
    return send(copyDownChannel(), copyDownFree_, ready, tile.bytes);
  auto slot = outgoing_.place(tile.bytes, static_cast<int64_t>(outgoingEnds_.size()));
  if (!slot)
    return std::nullopt;
  double free = slot->after < 0 ? 0 : outgoingEnds_[slot->after];
  double left = send(copyDownChannel(), copyDownFree_, std::max(ready, free), tile.bytes);
  double written = write(left, tile.bytes);
  outgoingEnds_.push_back(outgoingEnds_.empty() ? written : std::max(outgoingEnds_.back(), written));
  return left;
}

void Timeline::end(double ended, double freed) {
  ends_.push_back(ended);
  freed_.push_back(freed_.empty() ? freed : std::max(freed, freed_.back()));
}

void Timeline::runLookup(const StepMoment &moment) {
  double ready = std::max(computeFree_, lookupsEnd_);
  if (isWhollyResident(*moment.lookupState)) {
    computeFree_ = ready + residentLookupSeconds(
                               machine_, static_cast<double>(moment.lookupResultBytes));
    lookupsEnd_ = 0;
    end(computeFree_, computeFree_);
    return;
  }
  lookupsEnd_ = read(ready, lookupSeconds(readChannel(), moment.lookupCount,
                                          moment.lookupPieceBytes, moment.lookupStagingBytes));
  lastLookup_ = static_cast<int64_t>(ends_.size());
  end(lookupsEnd_, lookupsEnd_);
}

bool Timeline::runCall(const StepMoment &moment) {
  for (uint32_t state : moment.states) {
    uint64_t tileUnits = placement_.tileUnits[state], units = step_.states[state].units;
    if (tileUnits == 0)
      continue;
    for (uint64_t part = 0; part * tileUnits < units; ++part) {
      uint64_t partUnits = std::min(tileUnits, units - part * tileUnits);
      if (!runPart(moment, part, static_cast<double>(partUnits) / static_cast<double>(units)))
        return false;
    }
    return true;
  }
  return runPart(moment, 0, 1);
}

bool Timeline::runPart(const StepMoment &moment, uint64_t part, double fraction) {
  double ready = std::max(computeFree_, lookupsEnd_);
  staged_.clear();
  for (uint32_t index : moment.states) {
    const StepState &state = step_.states[index];
    uint64_t tileUnits = placement_.tileUnits[index];
    uint64_t begin = tileUnits * part;
    uint64_t end = tileUnits ? std::min(begin + tileUnits, state.units) : state.units;
    bool isBlank = std::ranges::find(moment.blank, index) != moment.blank.end();
    Tile tile{index,
              tileUnits ? static_cast<uint32_t>(part) : 0,
              state.extent(begin, end),
              state.gatheredExtent(begin, end),
              state.partExtent(begin, end),
              state.ranks > 1,
              isBlank && !(end == state.units && state.endsInPadding)};
    if (home(tile) != Home::compute)
      considerKeeping(tile, ready);
    if (home(tile) != Home::compute)
      staged_.push_back(tile);
  }
  if (!staged_.empty()) {
    auto there = bringIn(staged_);
    if (!there)
      return false;
    if (*there > ready)
      for (const Tile &tile : staged_)
        placement_.awaited[tile.state][tile.index] = true;
    ready = std::max(ready, *there);
  }
  computeFree_ = ready + launchSeconds(machine_, moment.cost, fraction, step_.threads);
  lookupsEnd_ = 0;
  auto freed = bringHome(moment, computeFree_);
  if (!freed)
    return false;
  end(computeFree_, *freed);
  return true;
}

void Timeline::considerKeeping(const Tile &tile, double partReady) {
  if (spare_.compute < tile.bytes && spare_.host < tile.partBytes)
    return;
  auto bytes = static_cast<double>(tile.partBytes);
  auto freedBy = prefetcher_.peekFreedBy(tile.gatheredBytes);
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

std::optional<double> Timeline::bringIn(const std::vector<Tile> &staged) {
  StagedPiece piece;
  piece.moment = static_cast<int64_t>(ends_.size());
  piece.notBefore = lastLookup_;
  for (const Tile &tile : staged) {
    piece.bytes += tile.gatheredBytes;
    if (hasHostTier_ && home(tile) == Home::nvme && !tile.isBlank)
      piece.hostBytes += tile.partBytes;
  }
  auto issue = prefetcher_.next(piece);
  if (!issue)
    return std::nullopt;
  double free = freedAt(issue->freedBy), there = 0;
  double hostFree = issue->movedBefore < 0 ? 0 : moveEnds_[issue->movedBefore];
  for (const Tile &tile : staged) {
    double arrived = tile.isBlank ? free : 0;
    if (home(tile) == Home::nvme && !tile.isBlank)
      arrived = read(hasHostTier_ ? hostFree : free,
                     channelSeconds(readChannel(), static_cast<double>(tile.partBytes)));
    if (hasHostTier_ && !tile.isBlank)
      arrived = send(copyChannel(), copyFree_, std::max(free, arrived), tile.partBytes);
    if (tile.isPartitioned)
      arrived = send(gatherChannel(), gatherFree_, arrived, tile.gatheredBytes);
    there = std::max(there, arrived);
  }
  moveEnds_.push_back(copyFree_);
  return there;
}
