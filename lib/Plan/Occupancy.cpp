#include "spillway/Plan/Occupancy.h"

#include <algorithm>
#include <cctype>
#include <map>

using namespace spillway;
using namespace spillway::plan;

namespace {

using Commands = flatbuffers::Vector<flatbuffers::Offset<table::Command>>;

class Occupancy {
public:
  Occupancy(const table::Program &program, const Simulation &simulation)
      : program_(program), simulation_(simulation) {}

  std::vector<Stay> run() {
    for (const table::Command *command : *program_.prologue())
      load(*command);
    joinLoads();
    for (const table::Binding *input : *program_.inputs())
      open(Stay::Kind::input, *input->slice(), input->name()->str());
    for (uint32_t i = 0; i < program_.step()->size(); ++i)
      touch(i, *program_.step()->Get(i));
    for (const table::Binding *output : *program_.outputs())
      if (Stay *stay = find(*output->slice()))
        stay->time.end = simulation_.stepSeconds;
    for (std::map<Key, Stay> *rest : {&residents_, &open_})
      for (auto &[place, stay] : *rest)
        stays_.push_back(std::move(stay));
    return std::move(stays_);
  }

private:
  /// A tier, and an offset in its arena.
  using Key = std::pair<table::Tier, uint64_t>;
  static Key keyOf(const table::Slice &slice) { return {slice.tier(), slice.offset()}; }

  //===--------------------------------------------------------------------===//
  // Before the first step
  //===--------------------------------------------------------------------===//

  void load(const table::Command &command) {
    Stay stay;
    stay.kind = Stay::Kind::resident;
    stay.label = labelOf(command);
    stay.time.end = simulation_.stepSeconds;
    if (auto read = command.operation_as_Read()) {
      stay.place = *read->target();
      stay.state = read->state();
      stay.stateOffset = read->offset();
    } else if (auto copy = command.operation_as_Copy()) {
      loadOn(stay, *copy->source(), *copy->target());
    } else if (auto gather = command.operation_as_AllGather()) {
      loadOn(stay, *gather->source(), *gather->target());
    } else {
      return;
    }
    loads_.insert_or_assign(keyOf(stay.place), std::move(stay));
  }

  /// What is copied or gathered on was only on its way.
  void loadOn(Stay &stay, const table::Slice &source, const table::Slice &target) {
    if (auto load = loads_.extract(keyOf(source)))
      stay = std::move(load.mapped());
    stay.place = target;
  }

  /// Parts of a state that follow each other stay as one.
  void joinLoads() {
    for (auto &[key, stay] : loads_) {
      if (!residents_.empty()) {
        Stay &last = std::prev(residents_.end())->second;
        uint64_t bytes = last.place.bytes();
        if (last.place.tier() == key.first && last.state == stay.state &&
            last.place.offset() + bytes == key.second && last.stateOffset + bytes == stay.stateOffset) {
          last.place = table::Slice(key.first, last.place.offset(), bytes + stay.place.bytes(), 0);
          continue;
        }
      }
      residents_[key] = std::move(stay);
    }
  }

  //===--------------------------------------------------------------------===//
  // Over the step
  //===--------------------------------------------------------------------===//

  void touch(uint32_t index, const table::Command &command) {
    std::string label = labelOf(command);
    if (auto launch = command.operation_as_Launch()) {
      uint32_t inputs = program_.kernels()->Get(launch->kernel())->inputs();
      for (uint32_t i = 0; launch->arguments() && i < launch->arguments()->size(); ++i) {
        const table::Slice &slice = launch->arguments()->Get(i)->slice();
        // What is computed in place stays what it was.
        if (i < inputs || isOperand(*launch, inputs, slice))
          read(index, slice);
        else
          write(index, slice, label, /*goesOn=*/launch->begin() > 0);
      }
      if (launch->scratch())
        open(Stay::Kind::scratch, *launch->scratch(), label, index);
    } else if (auto lookup = command.operation_as_Lookup()) {
      read(index, *lookup->indices());
      if (lookup->resident())
        read(index, *lookup->resident());
      if (lookup->staging())
        open(Stay::Kind::scratch, *lookup->staging(), label, index);
      write(index, *lookup->target(), label, false);
    } else if (auto fetch = command.operation_as_Read()) {
      Stay &stay = open(Stay::Kind::staged, *fetch->target(), label, index);
      stay.state = fetch->state();
      stay.stateOffset = fetch->offset();
    } else if (auto store = command.operation_as_Write()) {
      read(index, *store->source());
    } else if (auto copy = command.operation_as_Copy()) {
      pass(index, *copy->source(), *copy->target(), label);
    } else if (auto gather = command.operation_as_AllGather()) {
      pass(index, *gather->source(), *gather->target(), label);
    }
  }

  static bool isOperand(const table::Launch &launch, uint32_t inputs, const table::Slice &slice) {
    for (uint32_t i = 0; i < inputs; ++i)
      if (keyOf(launch.arguments()->Get(i)->slice()) == keyOf(slice))
        return true;
    return false;
  }

  /// What moves on is what it was.
  void pass(uint32_t index, const table::Slice &source, const table::Slice &target,
            const std::string &label) {
    read(index, source);
    const Stay *from = find(source);
    bool isState = from && (from->kind == Stay::Kind::staged || from->kind == Stay::Kind::resident);
    uint32_t state = isState ? from->state : 0;
    uint64_t stateOffset =
        isState ? from->stateOffset + source.offset() - from->place.offset() : 0;
    Stay &stay = open(isState ? Stay::Kind::staged : Stay::Kind::computed, target, label, index);
    stay.state = state;
    stay.stateOffset = stateOffset;
  }

  void read(uint32_t index, const table::Slice &slice) {
    if (Stay *stay = find(slice)) {
      stay->readers.push_back(index);
      stay->time.end = std::max(stay->time.end, simulation_.step[index].end);
    }
  }

  /// A launch of a part goes on with what an earlier one began.
  void write(uint32_t index, const table::Slice &slice, const std::string &label, bool goesOn) {
    Stay *stay = goesOn ? find(slice) : nullptr;
    if (!stay) {
      open(Stay::Kind::computed, slice, label, index);
      return;
    }
    stay->writers.push_back(index);
    stay->time.end = std::max(stay->time.end, simulation_.step[index].end);
  }

  Stay &open(Stay::Kind kind, const table::Slice &slice, std::string label) {
    auto [it, isNew] = open_.try_emplace(keyOf(slice));
    if (!isNew)
      stays_.push_back(std::move(it->second));
    Stay &stay = it->second = Stay();
    stay.kind = kind;
    stay.place = slice;
    stay.label = std::move(label);
    return stay;
  }

  Stay &open(Stay::Kind kind, const table::Slice &slice, std::string label, uint32_t writer) {
    Stay &stay = open(kind, slice, std::move(label));
    stay.time = simulation_.step[writer];
    stay.writers.push_back(writer);
    return stay;
  }

  /// What lies at the start of the slice; null where nothing is known.
  Stay *find(const table::Slice &slice) {
    if (auto it = open_.find(keyOf(slice)); it != open_.end())
      return &it->second;
    auto next = residents_.upper_bound(keyOf(slice));
    if (next == residents_.begin())
      return nullptr;
    Stay &stay = std::prev(next)->second;
    bool holds = stay.place.tier() == slice.tier() &&
                 slice.offset() < stay.place.offset() + stay.place.bytes();
    return holds ? &stay : nullptr;
  }

  const table::Program &program_;
  const Simulation &simulation_;
  std::map<Key, Stay> loads_, residents_, open_;
  std::vector<Stay> stays_;
};

} // namespace

std::string spillway::plan::labelOf(const table::Command &command) {
  return command.label() ? command.label()->str()
                         : table::EnumNameOperation(command.operation_type());
}

std::string spillway::plan::kindOf(const table::Command &command) {
  if (command.operation_as_Copy() && command.stream() == table::Stream::write)
    return "offload";
  if (command.operation_as_Copy() && command.stream() == table::Stream::read)
    return "restore";
  std::string kind = table::EnumNameOperation(command.operation_type());
  std::ranges::transform(kind, kind.begin(), [](unsigned char c) { return std::tolower(c); });
  return kind;
}

std::vector<Stay> spillway::plan::findStays(const table::Program &program,
                                            const Simulation &simulation) {
  return Occupancy(program, simulation).run();
}
