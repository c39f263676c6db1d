#include "spillway/Plan/Activations.h"

#include "dialects/Zero/Linked.h"
#include "runtime/state/State.h"
#include "spillway/Plan/Residents.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace spillway;
using namespace spillway::plan;

StringRef spillway::plan::nameOf(Location location) {
  if (auto name = dyn_cast<NameLoc>(location))
    return name.getName();
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (StringRef name = nameOf(part); !name.empty())
        return name;
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return nameOf(call.getCallee());
  return {};
}

uint64_t spillway::plan::lookupPieceBytes(zero::StateOp state) {
  if (zero::isLinked(state)) {
    RankedTensorType type = state.getTensorType();
    int64_t rows = type.getRank() ? std::max<int64_t>(1, type.getDimSize(0)) : 1;
    return roundUpToBlock(static_cast<uint64_t>(nn::tensorBytes(type) / rows)) + blockBytes;
  }
  auto chunkBytes = static_cast<uint64_t>(state.getChunkUnits() * state.getUnitBytes());
  return std::min(chunkBytes, stateExtent(state));
}

uint64_t spillway::plan::scratchPerThread(nn::KernelOp kernel) {
  return llvm::alignTo(kernel.getScratch(), 64);
}

static bool isState(Value value) {
  return isa_and_present<zero::UseOp, zero::ViewOp>(sourceOf(value).getDefiningOp());
}

bool spillway::plan::rewritesStates(nn::CallOp call) { return llvm::any_of(call.getInto(), isState); }

class Activations::Builder {
public:
  Builder(func::FuncOp function, int64_t threads) : function_(function), threads_(threads) {}

  FailureOr<Activations> build() {
    for (Value argument : function_.getArguments())
      add(argument, -1);
    for (Operation &op : function_.getBody().front())
      if (failed(visit(op)))
        return failure();
    shareBytes();
    layDrive();
    growStaging();
    noteRoom();
    return std::move(result_);
  }

private:
  /// A result that may be computed over an operand's bytes, at a moment.
  struct Sharing {
    uint32_t operand, result;
    int64_t moment;
  };

  struct Offload {
    zero::OffloadOp op;
    /// The one that gives the value.
    int64_t moment;
  };

  struct Lookup {
    uint32_t interval;
    uint64_t pieceBytes, count;
  };

  uint32_t add(Interval interval) {
    result_.intervals_.push_back(interval);
    return static_cast<uint32_t>(result_.intervals_.size() - 1);
  }

  void add(Value value, int64_t first) {
    auto type = cast<RankedTensorType>(value.getType());
    result_.values_[value] = add({static_cast<uint64_t>(nn::tensorBytes(type)), 64, first, first});
  }

  LogicalResult touch(Operation &user, Value value, int64_t moment) {
    if (isState(value))
      return success();
    auto it = result_.values_.find(sourceOf(value));
    if (it == result_.values_.end())
      return user.emitOpError("takes a value that is not in kernel form");
    int64_t &last = result_.intervals_[it->second].last;
    last = std::max(last, moment);
    return success();
  }

  LogicalResult visit(Operation &op) {
    return TypeSwitch<Operation *, LogicalResult>(&op)
        .Case([&](nn::CallOp call) { return visitCall(call); })
        .Case([&](zero::LookupOp lookup) { return visitLookup(lookup); })
        .Case([&](zero::OffloadOp offload) {
          offloads_.push_back({offload, moment_ - 1});
          return success();
        })
        .Case([&](zero::SettleOp settle) {
          Value value = settle.getOffload().getValue();
          settledAt_[result_.indexOf(value)] = moment_;
          return touch(op, value, moment_ - 1);
        })
        .Case([&](zero::RestoreOp restore) {
          add(restore.getResult(), moment_);
          restored_[restore.getOffload()] = restore.getResult();
          return success();
        })
        .Case([&](tensor::EmptyOp empty) {
          add(empty.getResult(), moment_);
          return success();
        })
        .Case([&](func::ReturnOp ret) {
          for (Value value : ret.getOperands())
            if (failed(touch(op, value, moment_)))
              return failure();
          return success();
        })
        .Case([&](nn::SliceOp slice) {
          return slice.getFirstOfRun() ? success() : slice.emitOpError("is not in kernel form");
        })
        .Case<nn::ReshapeOp, zero::UseOp, zero::UpdateOp, zero::FetchOp, zero::MoveOp, zero::GatherOp,
              zero::ViewOp, zero::StoreOp, zero::ReleaseOp>([](auto) { return success(); })
        .Default([](Operation *other) {
          return other->emitOpError("is not in kernel form");
        });
  }

  LogicalResult visitCall(nn::CallOp call) {
    nn::KernelOp kernel = call.getKernel(symbols_);
    // Calls that compute one call's units in turn are one moment and share their scratch, so
    // that a step takes the same bytes before it is tiled and after.
    bool continues = isNextPart(call);
    lastCall_ = call;
    if (continues)
      --moment_;
    noteMoment(call);
    for (Value operand : call.getOperands())
      if (failed(touch(*call, operand, moment_)))
        return failure();
    for (auto [i, result] : llvm::enumerate(call.getResults()))
      if (call.getInto().empty())
        add(result, moment_);
      else if (!isState(call.getInto()[i]))
        result_.values_[result] = result_.indexOf(call.getInto()[i]);
    if (!continues)
      noteSharing(call, kernel);
    if (kernel.getScratch()) {
      if (!continues)
        lastScratch_ = add({scratchPerThread(kernel) * threads_, 64, moment_, moment_});
      result_.scratch_[call] = lastScratch_;
    }
    ++moment_;
    return success();
  }

  void noteMoment(Operation *op) {
    result_.moments_[op] = moment_;
    result_.lastOfMoment_.resize(static_cast<size_t>(moment_) + 1);
    result_.lastOfMoment_.back() = op;
  }

  void noteSharing(nn::CallOp call, nn::KernelOp kernel) {
    for (auto [i, result] : llvm::enumerate(call.getResults())) {
      auto over = kernel.getResultAttrOfType<IntegerAttr>(i, nn::overAttrName);
      auto at = result_.values_.find(result);
      if (!over || at == result_.values_.end())
        continue;
      Value operand = call.getInputs()[over.getInt()], source = sourceOf(operand);
      bool isWhole = nn::tensorBytes(cast<RankedTensorType>(operand.getType())) ==
                     nn::tensorBytes(cast<RankedTensorType>(source.getType()));
      bool isOnce = llvm::count_if(call.getInputs(), [&](Value other) { return sourceOf(other) == source; }) == 1;
      if (isWhole && isOnce && !isState(source))
        sharings_.push_back({result_.indexOf(source), at->second, moment_});
    }
  }

  /// Puts results over operands that nothing takes afterwards, not even a transfer.
  void shareBytes() {
    std::vector<uint32_t> standsFor(result_.intervals_.size());
    std::iota(standsFor.begin(), standsFor.end(), 0);
    for (auto [operand, result, moment] : sharings_) {
      Interval &kept = result_.intervals_[standsFor[operand]];
      if (kept.last != moment || settledAt_.lookup(operand) > moment)
        continue;
      kept.last = std::max(kept.last, result_.intervals_[result].last);
      if (int64_t settled = settledAt_.lookup(result))
        settledAt_[standsFor[operand]] = settled;
      result_.intervals_[result].bytes = 0;
      standsFor[result] = standsFor[operand];
    }
    for (auto &[value, index] : result_.values_)
      index = standsFor[index];
  }

  /// Whether a call goes on where the call before has ended: with the units that follow, or with its results.
  bool isNextPart(nn::CallOp call) {
    if (!lastCall_ || call.getCallee() != lastCall_.getCallee() || call.getInto().empty())
      return false;
    if (call.getUnits() && lastCall_.getUnits())
      return (*call.getUnits())[0] == (*lastCall_.getUnits())[1];
    return call.getInto().front().getDefiningOp() == lastCall_;
  }

  LogicalResult visitLookup(zero::LookupOp lookup) {
    if (failed(touch(*lookup, lookup.getIndices(), moment_)))
      return failure();
    add(lookup.getResult(), moment_);
    auto state = symbols_.lookupNearestSymbolFrom<zero::StateOp>(lookup, lookup.getStateAttr());
    uint64_t piece = lookupPieceBytes(state);
    auto count = static_cast<uint64_t>(
        cast<RankedTensorType>(lookup.getIndices().getType()).getNumElements());
    uint32_t staging = add({piece, blockBytes, moment_, moment_});
    result_.staging_[lookup] = staging;
    lookups_.push_back({staging, piece, count});
    noteMoment(lookup);
    ++moment_;
    return success();
  }

  /// A value's bytes on the drive are its own from the call that gives it on until what was restored of it has been
  /// taken. Past the page cache it goes in whole blocks.
  void layDrive() {
    for (auto [op, moment] : offloads_) {
      uint64_t bytes = roundUpToBlock(nn::tensorBytes(op.getHandle().getType().getTensor()));
      Interval onDrive{bytes, blockBytes, moment, moment_};
      result_.intervals_[result_.indexOf(op.getValue())].alignment = blockBytes;
      if (Value restored = restored_.lookup(op)) {
        Interval &target = result_.intervals_[result_.indexOf(restored)];
        target.alignment = blockBytes;
        onDrive.last = target.last;
      }
      result_.onDrive_[op] = static_cast<uint32_t>(result_.driveIntervals_.size());
      result_.driveIntervals_.push_back(onDrive);
    }
    result_.driveLayout_ = layoutIntervals(result_.driveIntervals_);
  }

  /// Each moment, from the interval that ends highest down, is given to the first one that lives at it. What goes to the
  /// drive lives until the call that finds it there has begun.
  void noteRoom() {
    std::vector<uint32_t> order(result_.intervals_.size());
    std::iota(order.begin(), order.end(), 0);
    auto endOf = [&](uint32_t i) { return result_.layout_.offsets[i] + result_.intervals_[i].bytes; };
    llvm::stable_sort(order, [&](uint32_t a, uint32_t b) { return endOf(a) > endOf(b); });
    std::vector<uint64_t> taken(static_cast<size_t>(moment_));
    // The first moment from each one on that none is given to.
    std::vector<int64_t> next(static_cast<size_t>(moment_) + 1);
    std::iota(next.begin(), next.end(), 0);
    auto findNext = [&](int64_t moment) {
      while (next[moment] != moment)
        moment = next[moment] = next[next[moment]];
      return moment;
    };
    for (uint32_t index : order) {
      const Interval &interval = result_.intervals_[index];
      int64_t last = std::min(std::max(interval.last, settledAt_.lookup(index)), moment_ - 1);
      if (interval.bytes == 0)
        continue;
      for (int64_t m = findNext(std::min(std::max<int64_t>(interval.first, 0), moment_)); m <= last; m = findNext(m)) {
        taken[m] = endOf(index);
        next[m] = m + 1;
      }
    }
    uint64_t inputsEnd = 0;
    for (Value argument : function_.getArguments())
      inputsEnd = std::max(inputsEnd, endOf(result_.indexOf(argument)));
    result_.room_ = SharedRoom(result_.layout_.bytes, taken, inputsEnd);
  }

  /// Gives each look-up room for more pieces at a time, as many as take no byte
  /// more than the rest of the step needs.
  void growStaging() {
    result_.layout_ = layoutIntervals(result_.intervals_);
    constexpr uint64_t mostPieces = 64;
    // Each is tried by laying out everything.
    constexpr uint64_t mostPlaced = 1 << 24;
    if (lookups_.size() * result_.intervals_.size() > mostPlaced)
      return;
    for (const Lookup &lookup : lookups_) {
      uint64_t &bytes = result_.intervals_[lookup.interval].bytes;
      for (uint64_t pieces = std::min(lookup.count, mostPieces); pieces > 1; pieces /= 2) {
        bytes = pieces * lookup.pieceBytes;
        if (IntervalLayout layout = layoutIntervals(result_.intervals_);
            layout.bytes <= result_.layout_.bytes) {
          result_.layout_ = std::move(layout);
          break;
        }
        bytes = lookup.pieceBytes;
      }
    }
  }

  func::FuncOp function_;
  uint64_t threads_;
  SymbolTableCollection symbols_;
  Activations result_;
  int64_t moment_ = 0;
  nn::CallOp lastCall_;
  uint32_t lastScratch_ = 0;
  std::vector<Lookup> lookups_;
  std::vector<Sharing> sharings_;
  std::vector<Offload> offloads_;
  /// The moment before which the drive has what an interval holds.
  DenseMap<uint32_t, int64_t> settledAt_;
  /// What comes back, by offload.
  DenseMap<Operation *, Value> restored_;
};

FailureOr<Activations> Activations::of(func::FuncOp function, int64_t threads) {
  return Builder(function, threads).build();
}
