#include "dialects/Rt/Hazards.h"

#include <algorithm>
#include <limits>
#include <map>

using namespace spillway::rt;

namespace {

constexpr uint32_t never = std::numeric_limits<uint32_t>::max();

/// Who must have started, and so who must have ended, when a command starts.
///
/// A vector clock of starts: for each stream the position of its latest command
/// that has started no later. It grows along streams (commands start in order) and
/// along waits. A command has ended when one that waits for it has started, or when
/// the next one of its serial stream has.
class Order {
public:
  explicit Order(const std::vector<CommandAccesses> &commands) : commands_(commands) {
    std::array<uint32_t, streamCount> length{};
    std::array<Clock, streamCount> last{};
    position_.reserve(commands.size());
    clock_.reserve(commands.size());
    firstWaiter_.resize(commands.size());
    for (auto &waiters : firstWaiter_)
      waiters.fill(never);
    for (const CommandAccesses &command : commands) {
      unsigned stream = command.stream;
      uint32_t position = ++length[stream];
      Clock clock = last[stream];
      for (uint32_t wait : command.waits) {
        for (unsigned s = 0; s < streamCount; ++s)
          clock[s] = std::max(clock[s], clock_[wait][s]);
        firstWaiter_[wait][stream] = std::min(firstWaiter_[wait][stream], position);
      }
      clock[stream] = position;
      last[stream] = clock;
      position_.push_back(position);
      clock_.push_back(clock);
    }
  }

  bool hasEndedBefore(uint32_t first, uint32_t second) const {
    const Clock &started = clock_[second];
    unsigned stream = commands_[first].stream;
    if (isSerialStream(stream) && started[stream] > position_[first])
      return true;
    for (unsigned s = 0; s < streamCount; ++s)
      if (firstWaiter_[first][s] <= started[s])
        return true;
    return false;
  }

private:
  /// Positions count from 1 in each stream; 0 is none.
  using Clock = std::array<uint32_t, streamCount>;

  const std::vector<CommandAccesses> &commands_;
  std::vector<uint32_t> position_;
  std::vector<Clock> clock_;
  /// Position of the first command of each stream that waits for a command.
  std::vector<std::array<uint32_t, streamCount>> firstWaiter_;
};

/// What happened last to each byte of a tier.
class Memory {
public:
  enum class Content { unwritten, stale, ready };

  struct Piece {
    Content content = Content::unwritten;
    /// Writer in the list at hand, where there is one.
    uint32_t writer = never;
    /// Readers in the list at hand since the last write.
    std::vector<uint32_t> readers;
  };

  Memory() { pieces_[0] = {}; }

  /// Calls visit(offset, bytes, piece) for all pieces but the last one, which has no end.
  template <typename Visit> void forEach(Visit visit) const {
    for (auto it = pieces_.begin(), next = std::next(it); next != pieces_.end(); it = next++)
      visit(it->first, next->first - it->first, it->second);
  }

  /// Calls visit(piece) for pieces that cover exactly the bytes; stops at false.
  template <typename Visit> bool forEach(uint64_t offset, uint64_t bytes, Visit visit) {
    if (bytes == 0)
      return true;
    auto it = cut(offset), end = cut(offset + bytes);
    for (; it != end; ++it)
      if (!visit(it->second))
        return false;
    return true;
  }

  /// Makes one piece of the bytes.
  void write(uint64_t offset, uint64_t bytes, const Piece &piece) {
    if (bytes == 0)
      return;
    auto first = cut(offset), end = cut(offset + bytes);
    first->second = piece;
    pieces_.erase(std::next(first), end);
  }

  /// Starts a list: nobody has touched anything in it yet. What the last list
  /// wrote is ready, or stale where `writtenIsStale`.
  void startList(bool writtenIsStale) {
    for (auto &[offset, piece] : pieces_) {
      if (piece.writer != never && writtenIsStale)
        piece.content = Content::stale;
      piece.writer = never;
      piece.readers.clear();
    }
  }

private:
  std::map<uint64_t, Piece>::iterator cut(uint64_t offset) {
    auto it = std::prev(pieces_.upper_bound(offset));
    return it->first == offset ? it : pieces_.emplace_hint(std::next(it), offset, it->second);
  }

  std::map<uint64_t, Piece> pieces_;
};

/// Bytes that a carried command of a step reads, and nothing in that step overwrites any more.
struct CarriedRead {
  uint32_t command;
  AccessedBytes bytes;
};

/// The commands that a step carries into the next one, in front of those of this.
struct Carrying {
  std::vector<CommandAccesses> commands;
  /// Of the carried ones, in the step before.
  std::vector<uint32_t> indices;
  /// The other way round.
  std::vector<uint32_t> places;

  explicit Carrying(const std::vector<CommandAccesses> &step) : places(step.size()) {
    for (uint32_t index = 0; index < step.size(); ++index)
      if (step[index].isCarried) {
        places[index] = static_cast<uint32_t>(commands.size());
        commands.push_back(step[index]);
        commands.back().waits.clear();
        commands.back().carriedWaits.clear();
        indices.push_back(index);
      }
    for (const CommandAccesses &command : step) {
      CommandAccesses &shifted = commands.emplace_back(command);
      for (uint32_t &wait : shifted.waits)
        wait += static_cast<uint32_t>(indices.size());
      for (uint32_t wait : command.carriedWaits)
        shifted.waits.push_back(places[wait]);
    }
  }
};

bool overlap(const AccessedBytes &a, const AccessedBytes &b) {
  return a.tier == b.tier && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

class Checker {
public:
  std::optional<Hazard> run(const std::vector<CommandAccesses> &commands, Hazard::List list) {
    auto hazard = touchAll(commands, Order(commands), 0);
    if (hazard)
      hazard->list = list;
    return hazard;
  }

  /// Of the step that has run last.
  std::vector<CarriedRead> carriedReads(const std::vector<CommandAccesses> &step) const {
    std::vector<CarriedRead> reads;
    for (unsigned tier = 0; tier < tiers_.size(); ++tier)
      tiers_[tier].forEach([&](uint64_t offset, uint64_t bytes, const Memory::Piece &piece) {
        for (uint32_t reader : piece.readers)
          if (step[reader].isCarried)
            reads.push_back({reader, {tier, offset, bytes, false}});
      });
    return reads;
  }

  /// A step behind one whose carried commands go on.
  std::optional<Hazard> runBehind(const std::vector<CommandAccesses> &step, const std::vector<CarriedRead> &reads,
                                  const std::vector<AccessedBytes> &inputs) {
    Carrying carrying(step);
    auto carried = static_cast<uint32_t>(carrying.indices.size());
    Order order(carrying.commands);
    std::optional<Hazard> hazard;
    for (const CarriedRead &read : reads) {
      uint32_t index = carrying.places[read.command];
      // Inputs are written between the steps: the carried command itself is at fault.
      if (std::any_of(inputs.begin(), inputs.end(), [&](const AccessedBytes &input) { return overlap(read.bytes, input); }))
        hazard = Hazard{Hazard::Kind::unordered, {}, index, index, false, read.bytes};
      memory(read.bytes.tier).forEach(read.bytes.offset, read.bytes.bytes, [&](Memory::Piece &piece) {
        piece.readers.push_back(index);
        return true;
      });
    }
    if (!hazard)
      hazard = touchAll(carrying.commands, order, carried);
    if (!hazard)
      hazard = touchFiles(carrying, order);
    if (!hazard)
      return std::nullopt;
    hazard->list = Hazard::List::step;
    hazard->otherIsCarried = hazard->other < carried && hazard->kind == Hazard::Kind::unordered;
    if (hazard->kind == Hazard::Kind::unordered)
      hazard->other = hazard->otherIsCarried ? carrying.indices[hazard->other] : hazard->other - carried;
    hazard->command = hazard->command < carried ? carrying.indices[hazard->command] : hazard->command - carried;
    return hazard;
  }

  void markReady(const std::vector<AccessedBytes> &ranges) {
    for (const AccessedBytes &range : ranges)
      memory(range.tier).write(range.offset, range.bytes, {Memory::Content::ready, never, {}});
  }

  std::optional<Hazard> checkReady(const std::vector<AccessedBytes> &ranges, uint32_t command) {
    for (const AccessedBytes &range : ranges) {
      Memory::Content content = Memory::Content::ready;
      memory(range.tier).forEach(range.offset, range.bytes, [&](const Memory::Piece &piece) {
        content = piece.content;
        return content == Memory::Content::ready;
      });
      if (content != Memory::Content::ready)
        return unready(content, command, range);
    }
    return std::nullopt;
  }

  void startList(bool writtenIsStale) {
    for (Memory &memory : tiers_)
      memory.startList(writtenIsStale);
  }

private:
  /// The commands from `first` on.
  std::optional<Hazard> touchAll(const std::vector<CommandAccesses> &commands, const Order &order, uint32_t first) {
    for (uint32_t index = first; index < commands.size(); ++index)
      for (bool write : {false, true})
        for (const AccessedBytes &access : commands[index].accesses)
          if (access.write == write)
            if (auto hazard = touch(commands, order, index, access))
              return hazard;
    return std::nullopt;
  }

  /// Whatever reads bytes of a file that a carried command writes, or that the step itself writes: it reads what the step
  /// before has written, all of that. Writes begin behind all that is carried.
  static std::optional<Hazard> touchFiles(const Carrying &carrying, const Order &order) {
    auto carried = static_cast<uint32_t>(carrying.indices.size());
    auto isWrite = [&](uint32_t index) { return carrying.commands[index].stream == writeStream; };
    std::map<uint32_t, std::vector<uint32_t>> writers;
    for (uint32_t index = 0; index < carrying.commands.size(); ++index)
      if (const auto &file = carrying.commands[index].file; file && isWrite(index))
        writers[file->state].push_back(index);
    for (uint32_t index = carried; index < carrying.commands.size(); ++index) {
      const auto &file = carrying.commands[index].file;
      if (!file || isWrite(index))
        continue;
      for (uint32_t writer : writers[file->state]) {
        const FileBytes &written = *carrying.commands[writer].file;
        bool meets = written.offset < file->offset + file->bytes && file->offset < written.offset + written.bytes;
        if (meets && writer < carried && !order.hasEndedBefore(writer, index))
          return Hazard{Hazard::Kind::unordered, {}, index, writer, false, {}, written};
        if (meets && writer >= carried && !order.hasEndedBefore(index, writer))
          return Hazard{Hazard::Kind::unordered, {}, std::max(index, writer), std::min(index, writer), false, {}, written};
      }
    }
    return std::nullopt;
  }

  Memory &memory(unsigned tier) {
    if (tier >= tiers_.size())
      tiers_.resize(tier + 1);
    return tiers_[tier];
  }

  static Hazard unready(Memory::Content content, uint32_t command, const AccessedBytes &access) {
    Hazard hazard;
    hazard.kind = content == Memory::Content::stale ? Hazard::Kind::stale : Hazard::Kind::unwritten;
    hazard.command = command;
    hazard.bytes = access;
    return hazard;
  }

  std::optional<Hazard> touch(const std::vector<CommandAccesses> &commands, const Order &order,
                              uint32_t index, const AccessedBytes &access) {
    std::optional<Hazard> hazard;
    auto isOrdered = [&](uint32_t other) {
      if (order.hasEndedBefore(other, index))
        return true;
      hazard = Hazard{Hazard::Kind::unordered, {}, index, other, false, access};
      return false;
    };
    memory(access.tier).forEach(access.offset, access.bytes, [&](Memory::Piece &piece) {
      if (!access.write && piece.content != Memory::Content::ready) {
        hazard = unready(piece.content, index, access);
        return false;
      }
      if (piece.writer != never && !isOrdered(piece.writer))
        return false;
      if (!access.write) {
        forgetSuperseded(commands, piece.readers, commands[index].stream);
        piece.readers.push_back(index);
        return true;
      }
      return std::all_of(piece.readers.begin(), piece.readers.end(), [&](uint32_t reader) {
        return (reader == index && isInPlace(commands[index], access)) || isOrdered(reader);
      });
    });
    if (!hazard && access.write)
      memory(access.tier).write(access.offset, access.bytes, {Memory::Content::ready, index, {}});
    return hazard;
  }

  static bool isInPlace(const CommandAccesses &command, const AccessedBytes &written) {
    return std::any_of(command.accesses.begin(), command.accesses.end(), [&](const AccessedBytes &read) {
      return !read.write && read.tier == written.tier && read.offset == written.offset &&
             read.bytes == written.bytes;
    });
  }

  /// Whoever is ordered after the latest reader of a serial stream is after all.
  static void forgetSuperseded(const std::vector<CommandAccesses> &commands,
                               std::vector<uint32_t> &readers, unsigned stream) {
    if (isSerialStream(stream))
      std::erase_if(readers, [&](uint32_t reader) { return commands[reader].stream == stream; });
  }

  std::vector<Memory> tiers_;
};

} // namespace

/// What the commands of a list read of what was there before.
static std::vector<AccessedBytes> readFirst(const std::vector<CommandAccesses> &list) {
  std::vector<AccessedBytes> read, written;
  for (const CommandAccesses &command : list)
    for (const AccessedBytes &access : command.accesses) {
      bool isWritten = std::any_of(written.begin(), written.end(), [&](const AccessedBytes &other) {
        return overlap(other, access);
      });
      if (!isWritten)
        (access.write ? written : read).push_back(access);
    }
  return read;
}

std::vector<AccessedBytes> spillway::rt::accessesOfGather(AccessedBytes source,
                                                          AccessedBytes target) {
  source.write = false;
  target.write = true;
  uint64_t sourceEnd = source.offset + source.bytes, targetEnd = target.offset + target.bytes;
  if (source.tier != target.tier || source.offset < target.offset || sourceEnd > targetEnd)
    return {source, target};
  AccessedBytes before = target, after = target;
  before.bytes = source.offset - target.offset;
  after.offset = sourceEnd;
  after.bytes = targetEnd - sourceEnd;
  return {source, before, after};
}

std::optional<Hazard> spillway::rt::findHazard(const std::vector<CommandAccesses> &prologue,
                                               const std::vector<CommandAccesses> &step,
                                               const std::vector<CommandAccesses> &checkpoint,
                                               const std::vector<AccessedBytes> &inputs,
                                               const std::vector<AccessedBytes> &outputs) {
  const std::vector<AccessedBytes> kept = readFirst(checkpoint);
  Checker checker;
  if (auto hazard = checker.run(prologue, Hazard::List::prologue))
    return hazard;
  checker.startList(/*writtenIsStale=*/false);
  // Twice: the second step finds the memory as the first one left it.
  std::vector<CarriedRead> reads;
  for (int pass = 0; pass < 2; ++pass) {
    checker.markReady(inputs);
    if (auto hazard = pass == 0 ? checker.run(step, Hazard::List::step) : checker.runBehind(step, reads, inputs))
      return hazard;
    if (pass == 0)
      reads = checker.carriedReads(step);
    for (const std::vector<AccessedBytes> *left : {&outputs, &kept})
      if (auto hazard = checker.checkReady(*left, static_cast<uint32_t>(step.size())))
        return hazard;
    checker.startList(/*writtenIsStale=*/true);
    checker.markReady(kept);
    if (auto hazard = checker.run(checkpoint, Hazard::List::checkpoint))
      return hazard;
    checker.startList(/*writtenIsStale=*/true);
  }
  return std::nullopt;
}
