#include "spillway/Plan/Offload.h"

#include "dialects/Zero/Zero.h"
#include "spillway/Plan/Activations.h"
#include "spillway/Plan/StepExtraction.h"

#include "mlir/IR/IRMapping.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace spillway;
using namespace spillway::plan;

namespace {

/// Smaller values are not worth a transfer of their own.
constexpr uint64_t leastBytes = 4096;
/// Nor are those that stay on the drive for less than this part of a step's moments.
constexpr size_t leastStay = 32;
constexpr unsigned eighths = 8;

/// A value that waits. Moments are calls and look-ups, by their places.
struct Waiting {
  Value value;
  uint64_t bytes;
  size_t made;
  /// It waits longest from the end of one moment that gives or takes it to the start of the next one.
  size_t left, taken;
  double seconds;
  /// Among all that wait, as they are computed.
  size_t order = 0;
  /// The moments in front of which its bytes in memory are free, and in front of which it begins to come back.
  size_t settled = 0, restored = 0;
};

class Offloading {
public:
  Offloading(func::FuncOp function, const Machine &machine, unsigned threads, OffloadChoice choice)
      : function_(function), machine_(machine), threads_(threads), choice_(choice) {}

  Offloaded run() {
    collectMoments();
    collectWaiting();
    takeShare();
    settle();
    restore();
    // Without what does not come back in time, the others are written sooner.
    settle();
    Offloaded done;
    for (Waiting &waiting : waiting_) {
      write(waiting);
      ++done.values;
      done.bytes += waiting.bytes;
    }
    // Those that are taken first come back first.
    llvm::sort(waiting_, [](const Waiting &a, const Waiting &b) { return std::pair(a.taken, a.order) < std::pair(b.taken, b.order); });
    for (Waiting &waiting : waiting_)
      read(waiting);
    return done;
  }

private:
  void collectMoments() {
    SymbolTableCollection symbols;
    double now = 0;
    for (Operation &op : function_.getBody().front()) {
      auto call = dyn_cast<nn::CallOp>(op);
      if (!call && !isa<zero::LookupOp>(op))
        continue;
      place_[&op] = moments_.size();
      moments_.push_back(&op);
      start_.push_back(now);
      if (call)
        now += launchSeconds(machine_, kernelCostOf(call.getKernel(symbols)), 1, threads_);
    }
    start_.push_back(now);
  }

  void collectWaiting() {
    for (size_t made = 0; made < moments_.size(); ++made)
      for (Value value : moments_[made]->getResults())
        if (std::optional<Waiting> waiting = waitingOf(value, made)) {
          waiting->order = waiting_.size();
          waiting_.push_back(*waiting);
        }
  }

  std::optional<Waiting> waitingOf(Value value, size_t made) const {
    auto call = dyn_cast<nn::CallOp>(moments_[made]);
    auto bytes = static_cast<uint64_t>(nn::tensorBytes(cast<RankedTensorType>(value.getType())));
    SmallVector<Operation *> readers = zero::readersOf(value);
    if (bytes < leastBytes || (call && !call.getInto().empty()) || !llvm::all_of(readers, llvm::IsaPred<nn::CallOp>))
      return std::nullopt;
    SmallVector<size_t> places{made};
    llvm::append_range(places, llvm::map_range(readers, [&](Operation *reader) { return place_.lookup(reader); }));
    llvm::sort(places);
    Waiting waiting{value, bytes, made, made, made, 0};
    for (size_t i = 1; i < places.size(); ++i)
      if (double seconds = start_[places[i]] - start_[std::min(places[i - 1] + 1, places[i])]; seconds > waiting.seconds) {
        waiting.left = places[i - 1];
        waiting.taken = places[i];
        waiting.seconds = seconds;
      }
    waiting.settled = waiting.left + 1;
    waiting.restored = waiting.taken;
    return waiting.seconds > 0 && staysLong(waiting) ? std::optional(waiting) : std::nullopt;
  }

  bool staysLong(const Waiting &waiting) const {
    return waiting.restored > waiting.settled + moments_.size() / leastStay;
  }

  /// Of those that wait longest.
  void takeShare() {
    uint64_t all = 0, taken = 0;
    for (const Waiting &waiting : waiting_)
      all += waiting.bytes;
    llvm::sort(waiting_, [](const Waiting &a, const Waiting &b) { return std::pair(b.seconds, a.order) < std::pair(a.seconds, b.order); });
    llvm::erase_if(waiting_, [&](const Waiting &waiting) {
      taken += waiting.bytes;
      return taken * eighths > all * choice_.share;
    });
    llvm::sort(waiting_, [](const Waiting &a, const Waiting &b) { return a.order < b.order; });
  }

  double secondsOf(const Channel &channel, const Waiting &waiting) const {
    return channelSeconds(channel, static_cast<double>(waiting.bytes)) * choice_.lead;
  }

  /// One value after the other is written, as soon as it is there.
  void settle() {
    const Channel &channel = machine_.channels[2];
    double free = 0;
    for (Waiting &waiting : waiting_) {
      free = std::max(free, start_[waiting.made + 1]) + secondsOf(channel, waiting);
      waiting.settled = waiting.left + 1;
      if (choice_.lead != 0)
        waiting.settled = std::max(waiting.settled, firstFrom(free + channel.latencySeconds));
    }
  }

  /// The first moment that starts at a time or later.
  size_t firstFrom(double time) const {
    return static_cast<size_t>(llvm::lower_bound(start_, time) - start_.begin());
  }

  /// One value after the other is read, as late as possible. Drops those that stay on the drive too shortly.
  void restore() {
    const Channel &channel = machine_.channels[1];
    std::vector<Waiting *> last;
    for (Waiting &waiting : waiting_)
      last.push_back(&waiting);
    llvm::sort(last, [](const Waiting *a, const Waiting *b) { return std::pair(b->taken, b->order) < std::pair(a->taken, a->order); });
    double next = std::numeric_limits<double>::max();
    for (Waiting *each : last) {
      Waiting &waiting = *each;
      double begin = std::min(next, start_[waiting.taken]) - secondsOf(channel, waiting);
      waiting.restored = waiting.taken;
      if (choice_.lead != 0) {
        auto behind = llvm::upper_bound(start_, begin - channel.latencySeconds);
        waiting.restored = std::min(waiting.taken, static_cast<size_t>(std::max<ptrdiff_t>(behind - start_.begin(), 1) - 1));
      }
      if (staysLong(waiting))
        next = begin;
    }
    llvm::erase_if(waiting_, [&](const Waiting &waiting) { return !staysLong(waiting); });
  }

  void write(Waiting &waiting) {
    OpBuilder builder(function_.getContext());
    builder.setInsertionPointAfter(moments_[waiting.made]);
    Value value = waiting.value;
    auto type = zero::HandleType::get(builder.getContext(), cast<RankedTensorType>(value.getType()), zero::Tier::nvme);
    handles_[value] = zero::OffloadOp::create(builder, value.getLoc(), type, value);
    builder.setInsertionPoint(moments_[waiting.settled]);
    zero::SettleOp::create(builder, value.getLoc(), handles_[value]);
  }

  void read(Waiting &waiting) {
    OpBuilder builder(moments_[waiting.restored]);
    Location loc = waiting.value.getLoc();
    Value handle = handles_[waiting.value];
    auto restore = zero::RestoreOp::create(builder, loc, waiting.value.getType(), handle);
    auto release = zero::ReleaseOp::create(builder, loc, handle);
    replaceBehind(waiting.value, restore, release);
  }

  /// Has what stands behind `place` take `replacement` for `value`, through views of its own.
  static void replaceBehind(Value value, Value replacement, Operation *place) {
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
      Operation *user = use.getOwner();
      if (place->isBeforeInBlock(user)) {
        use.set(replacement);
      } else if (isa<nn::ReshapeOp, nn::SliceOp>(user)) {
        OpBuilder builder(place->getContext());
        builder.setInsertionPointAfter(place);
        IRMapping mapping;
        mapping.map(value, replacement);
        Operation *view = builder.clone(*user, mapping);
        replaceBehind(user->getResult(0), view->getResult(0), view);
        if (view->use_empty())
          view->erase();
      }
    }
  }

  func::FuncOp function_;
  const Machine &machine_;
  unsigned threads_;
  OffloadChoice choice_;
  std::vector<Operation *> moments_;
  DenseMap<Operation *, size_t> place_;
  /// Of computation alone; and its end.
  std::vector<double> start_;
  /// In the order in which they are computed.
  std::vector<Waiting> waiting_;
  DenseMap<Value, Value> handles_;
};

} // namespace

Offloaded spillway::plan::offload(func::FuncOp function, const Machine &machine, unsigned threads, OffloadChoice choice) {
  if (function.getOps<zero::UpdateOp>().empty() || choice.share == 0)
    return {};
  return Offloading(function, machine, threads, choice).run();
}
