#include "spillway/Plan/Planner.h"

#include "Timeline.h"
#include "runtime/base/Size.h"
#include "runtime/state/State.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

using namespace spillway;
using namespace spillway::plan;

namespace {

/// States up to this size are kept before any other: they save a transfer each.
constexpr uint64_t smallStateBytes = 64 << 10;
/// The largest tiles that are tried; 0: the smallest possible. Besides, tiles of which one, two
/// or four calls' fit the staging that the smallest need.
constexpr uint64_t tileLadder[] = {1ull << 62, 32 << 20, 16 << 20, 8 << 20, 4 << 20, 2 << 20,
                                   1 << 20,    512 << 10, 256 << 10, 64 << 10, 0};
/// Stagings that are tried, over what the largest piece takes, in quarters.
constexpr uint64_t stagingQuarters[] = {4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512, 1024, 4096};
/// Shares of all states that are tried as resident: most, and least where a step
/// has many parts.
constexpr uint64_t mostShares = 128, leastShares = 8;
constexpr uint64_t partsPerSearch = 1 << 18;

/// The most bytes of a tile, by group of states.
using TileLimit = std::function<uint64_t(uint32_t)>;

/// The units of each state's tiles where none exceeds its limit but by the size of a chunk.
std::vector<uint64_t> cutStates(const Step &step, const TileLimit &limit) {
  std::vector<uint64_t> result(step.states.size());
  std::map<uint32_t, std::pair<uint64_t, uint64_t>> groups; // chunk units, bytes of the largest unit
  for (const StepState &state : step.states)
    if (state.tileable) {
      auto [it, isNew] = groups.try_emplace(state.group, state.tileGrain(), state.unitBytes);
      it->second.first = std::lcm(it->second.first, state.tileGrain());
      it->second.second = std::max(it->second.second, state.unitBytes);
    }
  for (size_t i = 0; i < step.states.size(); ++i) {
    const StepState &state = step.states[i];
    if (!state.tileable || state.units == 0)
      continue;
    if (state.fixedTileUnits) {
      result[i] = state.fixedTileUnits < state.units ? state.fixedTileUnits : 0;
      continue;
    }
    auto [chunk, unitBytes] = groups[state.group];
    uint64_t chunkBytes = std::max<uint64_t>(1, chunk * unitBytes);
    uint64_t most = std::max<uint64_t>(1, limit(state.group) / chunkBytes) * chunk;
    uint64_t tiles = (state.units + most - 1) / most;
    uint64_t units = llvm::alignTo((state.units + tiles - 1) / tiles, chunk);
    result[i] = units < state.units ? units : 0;
  }
  return result;
}

std::vector<uint64_t> cutStates(const Step &step, uint64_t maxBytes) {
  return cutStates(step, [=](uint32_t) { return maxBytes; });
}

/// The largest tiles of which no call takes more than `pieceBytes` at once, beside states that
/// cannot be cut; the smallest tiles where even these exceed it.
std::vector<uint64_t> fitTiles(const Step &step, uint64_t pieceBytes) {
  std::map<uint32_t, uint64_t> limits;
  for (const StepMoment &moment : step.moments) {
    uint64_t whole = 0, cut = 0;
    for (uint32_t index : moment.states)
      if (step.states[index].tileable)
        ++cut;
      else
        whole += step.states[index].extent();
    uint64_t room = cut && pieceBytes > whole ? (pieceBytes - whole) / cut : 0;
    for (uint32_t index : moment.states) {
      auto [it, isNew] = limits.try_emplace(step.states[index].group, room);
      it->second = std::min(it->second, room);
    }
  }
  return cutStates(step, [&](uint32_t group) { return limits[group]; });
}

uint64_t tileCount(const StepState &state, uint64_t tileUnits) {
  return tileUnits ? (state.units + tileUnits - 1) / tileUnits : 1;
}

/// What one part of a call takes of states at most, where all of them stream.
uint64_t pieceBytes(const Step &step, const StepMoment &moment,
                    const std::vector<uint64_t> &tileUnits) {
  uint64_t bytes = 0;
  for (uint32_t index : moment.states) {
    const StepState &state = step.states[index];
    bytes += state.gatheredExtent(0, tileUnits[index] ? tileUnits[index] : state.units);
  }
  return bytes;
}

uint64_t largestPieceBytes(const Step &step, const std::vector<uint64_t> &tileUnits) {
  uint64_t bytes = 0;
  for (const StepMoment &moment : step.moments)
    bytes = std::max(bytes, pieceBytes(step, moment, tileUnits));
  return bytes;
}

uint64_t partCount(const Step &step, const std::vector<uint64_t> &tileUnits) {
  uint64_t parts = 0;
  for (const StepMoment &moment : step.moments) {
    uint64_t most = 1;
    for (uint32_t index : moment.states)
      most = std::max(most, tileCount(step.states[index], tileUnits[index]));
    parts += most;
  }
  return parts;
}

/// The states that a call takes whole with each tile of another one.
std::vector<bool> findRepeated(const Step &step, const std::vector<uint64_t> &tileUnits) {
  std::vector<bool> repeated(step.states.size());
  for (const StepMoment &moment : step.moments)
    if (std::ranges::any_of(moment.states, [&](uint32_t index) { return tileUnits[index] != 0; }))
      for (uint32_t index : moment.states)
        repeated[index] = tileUnits[index] == 0;
  return repeated;
}

/// The least that the host stages: the largest piece on its way to the device, and in its
/// halves what is loaded into the device before the first step.
uint64_t leastHostStaging(const Step &step, uint64_t piece) {
  uint64_t chunk = 0;
  for (const StepState &state : step.states)
    chunk = std::max(chunk, state.extent(0, std::min(state.chunkUnits, state.units)));
  return std::max(piece, 2 * chunk);
}

/// The most bytes of new values that one part of a call gives.
uint64_t largestRewrite(const Step &step, const std::vector<uint64_t> &tileUnits) {
  uint64_t most = 0;
  for (const StepMoment &moment : step.moments) {
    uint64_t bytes = 0;
    for (uint32_t index : moment.rewritten) {
      const StepState &state = step.states[index];
      bytes += state.extent(0, tileUnits[index] ? tileUnits[index] : state.units);
    }
    most = std::max(most, bytes);
  }
  return most;
}

class Search {
public:
  Search(const Step &step, const Machine &machine, const Budget &budget, double secondsBelow)
      : step_(step), machine_(machine), budget_(budget), secondsBelow_(secondsBelow),
        activations_(llvm::alignTo(step.activationBytes, blockBytes)), uses_(step.states.size()),
        isRewritten_(step.states.size()) {
    for (const StepState &state : step.states) {
      allBytes_ += state.extent();
      if (state.extent() <= smallStateBytes)
        smallBytes_ += state.extent();
    }
    for (const StepMoment &moment : step.moments)
      for (uint32_t state : moment.states)
        if (std::ranges::find(moment.blank, state) == moment.blank.end())
          ++uses_[state];
    for (const StepMoment &moment : step.moments)
      for (uint32_t state : moment.rewritten)
        isRewritten_[state] = true;
    for (const StepMoment &moment : step.moments)
      if (moment.lookupState && isRewritten_[*moment.lookupState])
        rewrittenLookups_.insert(*moment.lookupState);
  }

  std::optional<Placement> run() {
    std::vector<std::vector<uint64_t>> cuts;
    for (uint64_t maxBytes : tileLadder)
      cuts.push_back(cutStates(step_, maxBytes));
    uint64_t leastStaging = largestPieceBytes(step_, cuts.back());
    for (uint64_t slots : {1, 2, 4})
      cuts.push_back(fitTiles(step_, leastStaging / slots));
    std::set<std::vector<uint64_t>> tried;
    for (const std::vector<uint64_t> &tileUnits : cuts)
      if (tried.insert(tileUnits).second)
        tryTiles(tileUnits);
    return std::move(best_);
  }

private:
  void tryTiles(const std::vector<uint64_t> &tileUnits) {
    if (activations_ > budget_.compute)
      return;
    uint64_t room = budget_.compute - activations_;
    parts_ = partCount(step_, tileUnits);
    repeated_ = findRepeated(step_, tileUnits);
    repeatedBytes_ = 0;
    for (size_t i = 0; i < repeated_.size(); ++i)
      repeatedBytes_ += repeated_[i] ? step_.states[i].extent() : 0;
    if (!budget_.host && allBytes_ <= room)
      tryResident(tileUnits, {}, allBytes_);
    uint64_t piece = largestPieceBytes(step_, tileUnits);
    for (uint64_t quarters : stagingQuarters) {
      uint64_t staging = llvm::alignTo(piece * quarters / 4, blockBytes);
      if (staging > room || (quarters > 4 && staging > allBytes_ + piece))
        break;
      if (budget_.host)
        tryHostStagings(tileUnits, staging, piece, room - staging);
      else
        tryShares(tileUnits, staging, room - staging);
    }
  }

  void tryHostStagings(const std::vector<uint64_t> &tileUnits, uint64_t staging, uint64_t piece,
                       uint64_t room) {
    uint64_t least = leastHostStaging(step_, piece), rewrite = largestRewrite(step_, tileUnits);
    for (uint64_t quarters : stagingQuarters) {
      uint64_t hostStaging = llvm::alignTo(least * quarters / 4, blockBytes);
      if (hostStaging > *budget_.host || (quarters > 4 && hostStaging > allBytes_ + least))
        break;
      for (uint64_t outgoing : rewrite ? std::vector{rewrite, 2 * rewrite, 4 * rewrite} : std::vector<uint64_t>{0})
        if (hostStaging + outgoing <= *budget_.host)
          tryResident(tileUnits, {staging, hostStaging, outgoing}, room);
    }
  }

  /// Shares from large to small: from where even a perfect overlap is slower than the
  /// best plan, smaller ones are slower still.
  void tryShares(const std::vector<uint64_t> &tileUnits, uint64_t staging, uint64_t room) {
    if (repeatedBytes_ && repeatedBytes_ <= room)
      tryResident(tileUnits, {staging}, repeatedBytes_, /*keepsRepeated=*/true);
    uint64_t shares = std::clamp(partsPerSearch / std::max<uint64_t>(parts_, 1), leastShares, mostShares);
    for (uint64_t share = shares + 1; share-- > 0;) {
      uint64_t resident = smallBytes_ + (allBytes_ - smallBytes_) * share / shares;
      if (resident > room)
        continue;
      if (leastSeconds(resident) >= (best_ ? std::min(best_->seconds, secondsBelow_) : secondsBelow_))
        return;
      tryResident(tileUnits, {staging}, resident);
    }
    tryResident(tileUnits, {staging}, 0);
  }

  /// No plan with so much resident is faster.
  double leastSeconds(uint64_t resident) const {
    double compute = 0, bytes = 0, written = 0;
    uint64_t mostUses = 1;
    for (const StepMoment &moment : step_.moments)
      if (!moment.lookupState)
        compute += launchSeconds(machine_, moment.cost, 1, step_.threads) - machine_.launchSeconds;
    compute += machine_.launchSeconds * static_cast<double>(parts_);
    for (size_t i = 0; i < step_.states.size(); ++i)
      if (step_.states[i].extent() > smallStateBytes) {
        bytes += static_cast<double>(step_.states[i].partExtent(0, step_.states[i].units) * uses_[i]);
        mostUses = std::max(mostUses, uses_[i]);
        if (isRewritten_[i])
          written += static_cast<double>(step_.states[i].extent());
      }
    bytes -= static_cast<double>(resident * mostUses);
    written -= static_cast<double>(resident);
    for (uint64_t offloaded : step_.offloaded) {
      bytes += static_cast<double>(offloaded);
      written += static_cast<double>(offloaded);
    }
    auto moved = [&](size_t channel, double count) {
      count = std::max(0.0, count);
      return Moved{count, count / machine_.channels[channel].bytesPerSecond};
    };
    Moved read = moved(1, bytes), back = moved(2, written);
    return std::max({compute, read.seconds, back.seconds, driveSeconds(machine_, read, back)});
  }

  /// Where kernels compute; and in the host below, on the way up and down.
  struct Stagings {
    uint64_t compute = 0, up = 0, down = 0;
  };

  void tryResident(const std::vector<uint64_t> &tileUnits, Stagings stagings, uint64_t resident,
                   bool keepsRepeated = false) {
    Placement placement;
    placement.tileUnits = tileUnits;
    placement.stagingBytes = stagings.compute;
    placement.hostStagingBytes = stagings.up;
    placement.hostOutgoingBytes = stagings.down;
    uint64_t hostRoom = budget_.host ? *budget_.host - stagings.up - stagings.down : 0;
    placement.homes.resize(step_.states.size());
    placement.kept.resize(step_.states.size());
    for (size_t i = 0; i < step_.states.size(); ++i) {
      placement.homes[i].assign(tileCount(step_.states[i], tileUnits[i]), Home::nvme);
      placement.kept[i].assign(placement.homes[i].size(), Kept::no);
    }
    Timeline::Spare spare{resident, hostRoom};
    if (keepsRepeated)
      for (size_t i = 0; i < repeated_.size(); ++i)
        if (repeated_[i])
          keep(i, Kept::repeated, placement, spare);
    keepSmall(placement, spare);
    // What no carried writes hold up needs no other choice.
    if (tryKeeping(placement, spare, /*behindAnother=*/false))
      tryKeeping(placement, spare, /*behindAnother=*/true);
  }

  /// Keeps what is late, and what there is room for besides. Whether a step would be the best one if nothing were
  /// carried into it, and is not as fast as that.
  bool tryKeeping(Placement placement, const Timeline::Spare &spare, bool behindAnother) {
    bool hasHost = budget_.host.has_value();
    uint64_t residentBefore = placement.residentBytes, hostBefore = placement.hostResidentBytes;
    if (!Timeline::keepLate(step_, machine_, placement, hasHost, spare, behindAnother))
      return false;
    Placement fuller = placement;
    keepMore(fuller, {spare.compute - (placement.residentBytes - residentBefore),
                      spare.host - (placement.hostResidentBytes - hostBefore)});
    bool isHeldUp = false;
    for (Placement *candidate : {&fuller, &placement}) {
      keepAllOrNone(*candidate);
      double below = best_ ? best_->seconds : std::numeric_limits<double>::infinity();
      auto alone = Timeline::runBehindAnother(step_, machine_, *candidate, hasHost, below);
      if (!alone)
        continue;
      isHeldUp |= candidate->seconds > *alone;
      if (candidate->seconds < below)
        best_ = *candidate;
    }
    return isHeldUp;
  }

  /// Streams all of a rewritten state whose rows are looked up, where not all of it stays: the rows come from
  /// its file then, which a step must have written whole.
  void keepAllOrNone(Placement &placement) const {
    for (uint32_t state : rewrittenLookups_) {
      std::vector<Home> &homes = placement.homes[state];
      if (std::ranges::all_of(homes, [](Home home) { return home == Home::compute; }))
        continue;
      for (size_t tile = 0; tile < homes.size(); ++tile) {
        auto [begin, end] = tileUnits(state, tile, placement);
        if (homes[tile] == Home::compute)
          placement.residentBytes -= step_.states[state].extent(begin, end);
        else if (homes[tile] == Home::host)
          placement.hostResidentBytes -= step_.states[state].partExtent(begin, end);
      }
      std::ranges::fill(homes, Home::nvme);
      std::ranges::fill(placement.kept[state], Kept::no);
    }
  }

  /// Units [first, second) of a tile.
  std::pair<uint64_t, uint64_t> tileUnits(size_t state, size_t tile, const Placement &placement) const {
    uint64_t all = step_.states[state].units;
    uint64_t units = placement.tileUnits[state] ? placement.tileUnits[state] : all;
    return {tile * units, std::min(all, (tile + 1) * units)};
  }

  void keepSmall(Placement &placement, Timeline::Spare &spare) const {
    if (smallBytes_ > spare.compute)
      return;
    for (size_t i = 0; i < step_.states.size(); ++i)
      if (step_.states[i].extent() <= smallStateBytes && placement.homes[i].front() != Home::compute)
        keep(i, Kept::small, placement, spare);
  }

  void keep(size_t state, Kept why, Placement &placement, Timeline::Spare &spare) const {
    std::ranges::fill(placement.homes[state], Home::compute);
    std::ranges::fill(placement.kept[state], why);
    spare.compute -= step_.states[state].extent();
    placement.residentBytes += step_.states[state].extent();
  }

  /// What fits beside what made no call wait: bytes that are not moved.
  void keepMore(Placement &placement, Timeline::Spare spare) const {
    for (size_t i = 0; i < step_.states.size(); ++i)
      for (size_t tile = 0; tile < placement.homes[i].size(); ++tile) {
        Home &home = placement.homes[i][tile];
        const StepState &state = step_.states[i];
        auto [begin, end] = tileUnits(i, tile, placement);
        uint64_t bytes = state.extent(begin, end), partBytes = state.partExtent(begin, end);
        if (home == Home::compute)
          continue;
        if (bytes <= spare.compute) {
          if (home == Home::host) {
            spare.host += partBytes;
            placement.hostResidentBytes -= partBytes;
          }
          home = Home::compute;
          placement.kept[i][tile] = Kept::room;
          spare.compute -= bytes;
          placement.residentBytes += bytes;
        } else if (home == Home::nvme && partBytes <= spare.host) {
          home = Home::host;
          placement.kept[i][tile] = Kept::room;
          spare.host -= partBytes;
          placement.hostResidentBytes += partBytes;
        }
      }
  }

  const Step &step_;
  const Machine &machine_;
  const Budget &budget_;
  double secondsBelow_;
  uint64_t activations_;
  /// How often a step reads each state where it streams.
  std::vector<uint64_t> uses_;
  std::vector<bool> isRewritten_;
  /// States whose rows are looked up, and that the step gives new values.
  std::set<uint32_t> rewrittenLookups_;
  uint64_t allBytes_ = 0, smallBytes_ = 0;
  uint64_t parts_ = 0;
  /// What calls take whole with each tile of another state.
  std::vector<bool> repeated_;
  uint64_t repeatedBytes_ = 0;
  std::optional<Placement> best_;
};

/// What a call takes, each name once.
std::string describeWorking(const StepMoment &moment, uint64_t tileBytes) {
  std::vector<std::pair<std::string, uint64_t>> parts;
  for (const auto &[name, bytes] : moment.working) {
    auto known = std::ranges::find(parts, name, &std::pair<std::string, uint64_t>::first);
    if (known == parts.end())
      parts.emplace_back(name, bytes);
    else
      known->second += bytes;
  }
  constexpr size_t mostShown = 6;
  std::vector<std::string> texts;
  for (const auto &[name, bytes] : parts)
    if (texts.size() < mostShown)
      texts.push_back(fmt::format("{} {}", name, formatSize(bytes)));
  if (mostShown < parts.size())
    texts.push_back("...");
  if (tileBytes)
    texts.push_back(fmt::format("weights (smallest tile) {}", formatSize(tileBytes)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// What the smallest memory is made of.
std::string describeMinimum(const Step &step, const Minimum &minimum) {
  uint64_t activations = llvm::alignTo(step.activationBytes, blockBytes);
  std::string text = fmt::format(": {} for what the step computes, all that is needed later too, and {} through "
                                 "which weights stream",
                                 formatSize(activations), formatSize(minimum.bytes - activations));
  if (step.moments.empty())
    return text;
  const StepMoment &moment = step.moments[minimum.floorMoment];
  return text + fmt::format("; its floor of {} bytes ({}) is set by {}: {}", minimum.floorBytes,
                            formatSize(minimum.floorBytes), moment.name.empty() ? "a call" : moment.name,
                            describeWorking(moment, minimum.floorTileBytes));
}

} // namespace

Minimum spillway::plan::minimumOf(const Step &step) {
  Minimum minimum;
  std::vector<uint64_t> tileUnits = cutStates(step, 0);
  uint64_t piece = largestPieceBytes(step, tileUnits);
  minimum.bytes = llvm::alignTo(step.activationBytes, blockBytes) + piece;
  minimum.hostBytes = leastHostStaging(step, piece) + largestRewrite(step, tileUnits);
  for (size_t i = 0; i < step.moments.size(); ++i) {
    uint64_t tiles = pieceBytes(step, step.moments[i], tileUnits);
    uint64_t bytes = step.moments[i].workingBytes() + tiles;
    if (bytes > minimum.floorBytes) {
      minimum.floorBytes = bytes;
      minimum.floorMoment = static_cast<uint32_t>(i);
      minimum.floorTileBytes = tiles;
    }
  }
  return minimum;
}

Result<Placement> spillway::plan::place(const Step &step, const Machine &machine,
                                        const Budget &budget, double secondsBelow) {
  if (auto placement = Search(step, machine, budget, secondsBelow).run())
    return std::move(*placement);
  Minimum minimum = minimumOf(step);
  std::string parts = describeMinimum(step, minimum);
  if (budget.host)
    return userError("the tiers device={} and host={} are too small: the smallest that work are "
                     "device={} and host={} bytes ({} and {}){}",
                     formatSize(budget.compute), formatSize(*budget.host), minimum.bytes,
                     minimum.hostBytes, formatSize(minimum.bytes), formatSize(minimum.hostBytes),
                     parts);
  return userError("a budget of {} bytes ({}) is too small: the smallest that works is {} bytes "
                   "({}){}",
                   budget.compute, formatSize(budget.compute), minimum.bytes,
                   formatSize(minimum.bytes), parts);
}

std::optional<double> spillway::plan::predict(const Step &step, const Machine &machine,
                                              const Placement &placement, bool hasHostTier) {
  Placement copy = placement;
  if (!Timeline::runBehindAnother(step, machine, copy, hasHostTier, std::numeric_limits<double>::infinity()))
    return std::nullopt;
  return copy.seconds;
}
