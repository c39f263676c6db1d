#include "spillway/Conversion/ZeroToRt/ZeroToRt.h"

#include "CarriedWaits.h"
#include "dialects/Rt/Rt.h"
#include "runtime/state/State.h"
#include "spillway/Plan/Activations.h"
#include "spillway/Plan/Residents.h"
#include "spillway/Plan/StagingRing.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>
#include <utility>

namespace spillway {
#define GEN_PASS_DEF_CONVERTZEROTORTPASS
#include "spillway/Conversion/ZeroToRt/Passes.h.inc"
} // namespace spillway

using namespace mlir;
using namespace spillway;

namespace {

/// Bytes of a state in an arena, and the commands after which they are there or, of what is blank, free.
struct Place {
  Value buffer;
  SmallVector<Value> ready;
  /// Whether it is filled by the call that takes it.
  bool isBlank = false;
};

/// The staging of one tier. The handles of one call share a slot, whose bytes
/// they take in the order in which they are taken.
class Staging {
public:
  /// `base` is where the shared room begins or, where there is none, the staging itself.
  Staging(uint64_t base, uint64_t bytes, const plan::SharedRoom *room) : base_(base), ring_(bytes, room) {}

  struct Spot {
    uint64_t offset;
    /// Of the slot, from `base` on.
    uint64_t slotBegin, slotEnd;
    /// The call whose slot was overtaken last; null where none was.
    Operation *after;
    /// The calls whose slots are overtaken that no earlier slot has, in order.
    SmallVector<Operation *, 1> overtaken;
  };

  void announce(Operation *call, uint64_t bytes) {
    pending_[call] += plan::StagingRing::slotBytes(bytes);
  }

  FailureOr<Spot> take(Operation *handle, Operation *call, const plan::Activations &activations, uint64_t bytes) {
    auto [it, isNew] = slots_.try_emplace(call);
    if (isNew) {
      using Share = plan::StagingRing::Share;
      auto nnCall = dyn_cast<nn::CallOp>(call);
      Share share = !nnCall ? Share::no : plan::rewritesStates(nnCall) ? Share::whileWritten : Share::whileUsed;
      auto slot = ring_.place(pending_.lookup(call), {static_cast<int64_t>(users_.size()), activations.momentOf(call),
                                                      activations.endsMoment(call), share});
      if (!slot)
        return handle->emitOpError("takes more bytes than the staging of its tier");
      users_.push_back(call);
      it->second = {base_ + slot->offset, slot->offset, slot->offset + pending_.lookup(call),
                    slot->after < 0 ? nullptr : users_[slot->after], {}};
      for (; overtaken_ <= slot->after; ++overtaken_)
        it->second.overtaken.push_back(users_[overtaken_]);
    }
    Spot spot = it->second;
    it->second.offset += plan::StagingRing::slotBytes(bytes);
    it->second.overtaken.clear();
    return spot;
  }

private:
  uint64_t base_;
  plan::StagingRing ring_;
  std::vector<Operation *> users_;
  int64_t overtaken_ = 0;
  DenseMap<Operation *, uint64_t> pending_;
  DenseMap<Operation *, Spot> slots_;
};

/// The one call that takes what a handle holds.
Operation *consumerOf(Value handle) {
  for (Operation *user : handle.getUsers()) {
    if (isa<zero::MoveOp, zero::GatherOp>(user))
      return consumerOf(user->getResult(0));
    auto view = dyn_cast<zero::ViewOp>(user);
    Value value = view ? view.getResult() : Value();
    while (value && !value.use_empty()) {
      Operation *taker = *value.user_begin();
      if (!isa<nn::ReshapeOp>(taker))
        return taker;
      value = taker->getResult(0);
    }
  }
  return nullptr;
}

/// The host's memory that new values pass through on their way from the device to NVMe.
class Outgoing {
public:
  Outgoing(uint64_t base, uint64_t bytes) : base_(base), ring_(bytes) {}

  struct Spot {
    uint64_t offset;
    /// Writes of what lay there that no earlier spot has waited for.
    SmallVector<Value, 1> after;
  };

  std::optional<Spot> take(uint64_t bytes) {
    auto slot = ring_.place(bytes, {.number = static_cast<int64_t>(writes_.size())});
    if (!slot)
      return std::nullopt;
    Spot spot{base_ + slot->offset, {}};
    for (; overtaken_ <= slot->after; ++overtaken_)
      spot.after.push_back(writes_[overtaken_]);
    return spot;
  }

  /// What empties the spot that was taken last.
  void noteWrite(Value end) { writes_.push_back(end); }

private:
  uint64_t base_;
  plan::StagingRing ring_;
  std::vector<Value> writes_;
  int64_t overtaken_ = 0;
};

class ProgramBuilder {
public:
  ProgramBuilder(func::FuncOp function, ArrayAttr arenas, int64_t threads, int64_t ranks,
                 plan::Activations activations)
      : function_(function), module_(function->getParentOfType<ModuleOp>()), threads_(threads),
        ranks_(ranks), activations_(std::move(activations)), builder_(function.getContext()),
        carriedWaits_(activations_.room()) {
    auto computeTier = cast<zero::ArenaAttr>(arenas[0]).getTier();
    for (auto arena : arenas.getAsRange<zero::ArenaAttr>())
      tiers_.push_back(std::make_unique<TierState>(arena, module_, computeTier));
  }

  LogicalResult build() {
    if (failed(checkRanks()) || failed(layArenas()))
      return failure();
    createProgram();
    if (failed(emitPrologue()))
      return failure();
    announceStaging();
    builder_.setInsertionPointToEnd(&program_.getStep().getBody().front());
    for (Operation &op : function_.getBody().front())
      if (failed(convert(op)))
        return failure();
    carriedWaits_.apply(program_.getStep());
    if (failed(emitCheckpoint()))
      return failure();
    function_.erase();
    return success();
  }

private:
  struct TierState {
    TierState(zero::ArenaAttr arena, ModuleOp module, zero::Tier computeTier)
        : arena(arena), residents(module, arena.getTier(), computeTier) {}
    zero::ArenaAttr arena;
    plan::Residents residents;
    uint64_t activationBase = 0, stagingBase = 0;
    uint64_t bytes = 0;
    std::optional<Staging> staging;
    std::optional<Outgoing> outgoing;
  };

  TierState &tier(zero::Tier which) {
    return *llvm::find_if(tiers_, [&](auto &t) { return t->arena.getTier() == which; })->get();
  }
  TierState &compute() { return *tiers_.front(); }

  LogicalResult checkRanks() {
    for (auto state : module_.getOps<zero::StateOp>())
      if (auto ranks = state.getPartition(); ranks && static_cast<int64_t>(*ranks) != ranks_)
        return state.emitError("is split over ") << *ranks << " ranks of " << ranks_;
    return success();
  }

  LogicalResult layArenas() {
    for (auto &t : tiers_) {
      bool computes = t == tiers_.front();
      t->activationBase = t->residents.bytes();
      t->stagingBase = llvm::alignTo(
          t->activationBase + (computes ? activations_.layout().bytes : 0), blockBytes);
      auto stagingBytes = static_cast<uint64_t>(t->arena.getStaging());
      auto outgoingBytes = static_cast<uint64_t>(t->arena.getOutgoing());
      if (computes)
        t->staging.emplace(t->activationBase, stagingBytes, &activations_.room());
      else
        t->staging.emplace(t->stagingBase, stagingBytes, nullptr);
      t->outgoing.emplace(t->stagingBase + stagingBytes, outgoingBytes);
      t->bytes = t->stagingBase + stagingBytes + outgoingBytes;
      if (t->bytes > static_cast<uint64_t>(t->arena.getBytes()))
        return module_.emitError("the step takes ")
               << t->bytes << " bytes of " << zero::stringifyTier(t->arena.getTier())
               << ", which has " << t->arena.getBytes();
    }
    return success();
  }

  void createProgram() {
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPoint(function_);
    Location loc = function_.getLoc();
    program_ = rt::ProgramOp::create(builder_, loc, function_.getSymName(), ranks_, threads_);
    places_ = OpBuilder::atBlockBegin(&program_.getBody().emplaceBlock());
    for (auto &t : tiers_)
      rt::ArenaOp::create(places_, loc, t->arena.getTier(), t->bytes);
    if (uint64_t bytes = activations_.driveBytes())
      rt::ArenaOp::create(places_, loc, zero::Tier::nvme, bytes);
    OpBuilder lists = places_;
    rt::PrologueOp::create(lists, loc).getBody().emplaceBlock();
    rt::StepOp::create(lists, loc).getBody().emplaceBlock();
    places_.setInsertionPoint(program_.getPrologue());
    bind<rt::InputOp>(function_.getArguments(), [&](unsigned i, StringRef name) {
      return function_.getArgAttrOfType<StringAttr>(i, name);
    });
    for (auto [i, input] : llvm::enumerate(program_.getBody().front().getOps<rt::InputOp>()))
      if (auto classes = function_.getArgAttrOfType<DenseI64ArrayAttr>(i, "spillway.classes"); classes && !classes.empty())
        input->setAttr("spillway.classes", classes);
    bind<rt::OutputOp>(returned().getOperands(), [&](unsigned i, StringRef name) {
      return function_.getResultAttrOfType<StringAttr>(i, name);
    });
  }

  func::ReturnOp returned() {
    return cast<func::ReturnOp>(function_.getBody().front().getTerminator());
  }

  template <typename Op, typename Attributes>
  void bind(ValueRange values, Attributes attribute) {
    for (auto [i, value] : llvm::enumerate(values))
      Op::create(places_, value.getLoc(), attribute(i, "spillway.name"), activation(value),
                 attribute(i, "spillway.type"),
                 places_.getDenseI64ArrayAttr(cast<RankedTensorType>(value.getType()).getShape()));
  }

  Value buffer(StringRef label, zero::Tier tier, uint64_t offset, uint64_t bytes,
               uint64_t rankStride = 0) {
    return rt::BufferOp::create(places_, function_.getLoc(), bufferType_, label, tier, offset, bytes,
                                rankStride);
  }

  Value activation(Value value) {
    uint32_t index = activations_.indexOf(value);
    StringRef label = plan::nameOf(plan::sourceOf(value).getLoc());
    uint64_t bytes = nn::tensorBytes(cast<RankedTensorType>(value.getType()));
    if (bytes == activations_.intervals()[index].bytes)
      return temporary(label, index);
    Value &made = viewBuffers_[{index, plan::offsetInSource(value), bytes}];
    if (!made)
      made = buffer(label, compute().arena.getTier(),
                    activationOffset(index) + plan::offsetInSource(value), bytes);
    return made;
  }

  Value temporary(StringRef label, uint32_t index) {
    Value &made = activationBuffers_[index];
    if (!made)
      made = buffer(label, compute().arena.getTier(), activationOffset(index),
                    activations_.intervals()[index].bytes);
    return made;
  }

  uint64_t activationOffset(uint32_t index) {
    return compute().activationBase + activations_.layout().offsets[index];
  }

  //===--------------------------------------------------------------------===//
  // Prologue
  //===--------------------------------------------------------------------===//

  LogicalResult emitPrologue() {
    builder_.setInsertionPointToEnd(&program_.getPrologue().getBody().front());
    for (auto &t : tiers_)
      for (plan::ResidentRun run : t->residents.runs()) {
        Value target = buffer(run.state.getName(), t->arena.getTier(), run.offset, run.bytes);
        if (run.lastTile - run.firstTile == run.state.getTileCount() && !run.rankStride)
          wholeStates_[run.state] = target;
        if (run.bytes == 0)
          continue;
        if (t->arena.getTier() == zero::Tier::device) {
          if (failed(loadThroughHost(run)))
            return failure();
          continue;
        }
        if (run.state.getPartition() && !run.rankStride)
          loadByParts(run, t->arena.getTier());
        else
          emitRead(run.state.getLoc(), run.state, run.stateOffset, target, run.rankStride);
      }
    return success();
  }

  Value emitRead(Location loc, zero::StateOp state, uint64_t offset, Value target,
                 uint64_t rankStride, ValueRange after = {}) {
    return rt::ReadOp::create(builder_, loc, eventType_, state.getSymName(), offset, target,
                              rankStride, after, state.getNameAttr());
  }

  Value emitGather(Location loc, zero::StateOp state, Value part, Value whole, ValueRange after) {
    return rt::AllGatherOp::create(builder_, loc, eventType_, part, whole, after,
                                   state.getNameAttr());
  }

  /// Brings in a run that every rank keeps: each reads a part of it, and they are gathered in
  /// place. What is less than a chunk for each, all read.
  void loadByParts(plan::ResidentRun run, zero::Tier tier) {
    Location loc = run.state.getLoc();
    StringRef name = run.state.getName();
    uint64_t chunk = run.state.getChunkUnits() * run.state.getUnitBytes();
    uint64_t partBytes = run.bytes / chunk / ranks_ * chunk, gathered = ranks_ * partBytes;
    if (partBytes) {
      Value own = buffer(name, tier, run.offset, partBytes, partBytes);
      Value read = emitRead(loc, run.state, run.stateOffset, own, partBytes);
      emitGather(loc, run.state, own, buffer(name, tier, run.offset, gathered), read);
    }
    if (gathered < run.bytes)
      emitRead(loc, run.state, run.stateOffset + gathered,
               buffer(name, tier, run.offset + gathered, run.bytes - gathered), /*rankStride=*/0);
  }

  /// A piece of a run on its way between device memory and NVMe.
  struct Passing {
    /// From the state's first byte.
    uint64_t offset;
    Value onHost, onDevice;
    /// The transfer that empties the host's bytes of what they held before; null for the first ones.
    Value &emptied;
  };

  /// Cuts a run into pieces that alternate between the halves of the host's staging.
  LogicalResult passThroughHost(plan::ResidentRun run, llvm::function_ref<void(Passing)> transfer) {
    TierState &host = tier(zero::Tier::host);
    zero::StateOp state = run.state;
    uint64_t chunk = std::min(plan::stateExtent(state), static_cast<uint64_t>(state.getChunkUnits() *
                                                                              state.getUnitBytes()));
    // The halves lie at the same places for all states.
    uint64_t half = llvm::alignDown(static_cast<uint64_t>(host.arena.getStaging()) / 2, blockBytes);
    uint64_t most = half / chunk * chunk;
    if (most == 0)
      return state.emitError("a piece of ")
             << chunk << " bytes does not fit half of the host's staging, which it passes through";
    for (uint64_t done = 0; done < run.bytes; done += most) {
      uint64_t bytes = std::min(most, run.bytes - done);
      transfer({run.stateOffset + done,
                buffer(state.getName(), zero::Tier::host, host.stagingBase + passed_ * half, bytes),
                buffer(state.getName(), zero::Tier::device, run.offset + done, bytes), halfEmptied_[passed_]});
      passed_ = 1 - passed_;
    }
    return success();
  }

  LogicalResult loadThroughHost(plan::ResidentRun run) {
    zero::StateOp state = run.state;
    return passThroughHost(run, [&](Passing piece) {
      Value read = emitRead(state.getLoc(), state, piece.offset, piece.onHost, /*rankStride=*/0,
                            piece.emptied ? ValueRange(piece.emptied) : ValueRange());
      piece.emptied = emitCopy(state, piece.onHost, piece.onDevice, rt::Stream::copy_up, read);
    });
  }

  LogicalResult storeThroughHost(plan::ResidentRun run) {
    zero::StateOp state = run.state;
    return passThroughHost(run, [&](Passing piece) {
      Value copied = emitCopy(state, piece.onDevice, piece.onHost, rt::Stream::copy_down,
                              piece.emptied ? ValueRange(piece.emptied) : ValueRange());
      piece.emptied = emitWrite(state, piece.offset, piece.onHost, copied);
    });
  }

  Value emitCopy(zero::StateOp state, Value source, Value target, rt::Stream stream, ValueRange after) {
    return rt::CopyOp::create(builder_, state.getLoc(), eventType_, source, target, stream, after,
                              state.getNameAttr());
  }

  rt::WriteOp emitWrite(zero::StateOp state, uint64_t offset, Value source, ValueRange after) {
    return rt::WriteOp::create(builder_, state.getLoc(), eventType_, state.getSymName(), offset, source,
                               /*rank_stride=*/0, after, state.getNameAttr());
  }

  //===--------------------------------------------------------------------===//
  // Step
  //===--------------------------------------------------------------------===//

  void announceStaging() {
    for (Operation &op : function_.getBody().front())
      if (isa<zero::FetchOp, zero::MoveOp>(op) && isStaged(op))
        tier(cast<zero::HandleType>(op.getResult(0).getType()).getTier())
            .staging->announce(consumerOf(op.getResult(0)), stagedBytes(op.getResult(0)));
  }

  zero::StateOp stateOf(zero::FetchOp fetch) {
    return symbols_.lookupNearestSymbolFrom<zero::StateOp>(module_, fetch.getStateAttr());
  }
  zero::Tier homeOf(zero::FetchOp fetch) { return stateOf(fetch).getTileHome(fetch.getTile().value_or(0)); }
  bool isStaged(Operation &op) {
    auto fetch = dyn_cast<zero::FetchOp>(op);
    return !fetch || homeOf(fetch) != fetch.getTo();
  }
  /// Byte offset in the state of what rank 0 fetches, and the bytes that each does.
  std::pair<uint64_t, uint64_t> extentOf(zero::FetchOp fetch) {
    zero::StateOp state = stateOf(fetch);
    auto [offset, bytes] = plan::tileExtent(state, fetch.getTile());
    return {offset, fetch.getPart() ? plan::partExtent(state, fetch.getTile().value_or(0)) : bytes};
  }
  /// What a handle that is fetched or moved takes of its tier's staging.
  uint64_t stagedBytes(Value handle) {
    zero::FetchOp fetch = zero::fetchOf(handle);
    return isGatheredIn(handle) ? plan::gatheredExtent(stateOf(fetch), fetch.getTile().value_or(0))
                                : extentOf(fetch).second;
  }
  /// Whether a handle is a part that lies in its own place of what is gathered.
  bool isGatheredIn(Value handle) {
    return zero::fetchOf(handle).getPart() && cast<zero::HandleType>(handle.getType()).getTier() ==
                                                  compute().arena.getTier();
  }

  LogicalResult convert(Operation &op) {
    return TypeSwitch<Operation *, LogicalResult>(&op)
        .Case([&](zero::FetchOp fetch) { return convertFetch(fetch); })
        .Case([&](zero::MoveOp move) { return convertMove(move); })
        .Case([&](zero::GatherOp gather) { return convertGather(gather); })
        .Case([&](zero::LookupOp lookup) { return convertLookup(lookup); })
        .Case([&](nn::CallOp call) { return convertCall(call); })
        .Case([&](zero::StoreOp store) { return convertStore(store); })
        .Case([&](zero::OffloadOp offload) { return convertOffload(offload); })
        .Case([&](zero::SettleOp settle) {
          settled_.push_back(offloadEnds_.lookup(settle.getOffload()));
          return success();
        })
        .Case([&](zero::RestoreOp restore) { return convertRestore(restore); })
        .Case<zero::UseOp, zero::UpdateOp>([&](auto op) {
          return op.emitOpError("is not scheduled: run zero-schedule before");
        })
        .Default([](Operation *) { return success(); });
  }

  LogicalResult convertFetch(zero::FetchOp fetch) {
    zero::StateOp state = stateOf(fetch);
    auto [stateOffset, bytes] = extentOf(fetch);
    TierState &target = tier(fetch.getTo());
    if (!isStaged(*fetch)) {
      bool isWhole = &target == &compute();
      if (state.getPartition() && fetch.getPart() == isWhole)
        return fetch.emitOpError(isWhole ? "takes a part of what is whole there"
                                         : "takes the whole of what is there by parts");
      handlePlaces_[fetch] = {placeAtHome(fetch), {}};
      return success();
    }
    FailureOr<Value> place = takeStaging(target, fetch, state.getName(), bytes);
    if (failed(place))
      return failure();
    if (fetch.getBlank()) {
      handlePlaces_[fetch] = {*place, stagingFree_, /*isBlank=*/true};
      return success();
    }
    if (&target == &compute())
      unwaitedStores_.clear();
    Value read = emitRead(fetch.getLoc(), state, stateOffset, *place, fetch.getPart() ? bytes : 0,
                          stagingFree_);
    if (&target == &compute())
      carriedWaits_.noteFill(consumerOf(fetch.getHandle()), read);
    handlePlaces_[fetch] = {*place, {read}};
    return success();
  }

  /// Where what a fetch names lies between steps, in memory.
  Value placeAtHome(zero::FetchOp fetch) {
    zero::StateOp state = stateOf(fetch);
    std::optional<uint64_t> tile = fetch.getTile();
    Value &made = residentBuffers_[{state, tile ? static_cast<int64_t>(*tile) : -1}];
    if (!made)
      made = buffer(state.getName(), homeOf(fetch), tier(homeOf(fetch)).residents.offsetOf(state, tile.value_or(0)),
                    extentOf(fetch).second);
    return made;
  }

  /// A buffer of `bytes` for a handle; leaves in stagingFree_ what must have ended before it
  /// is written.
  FailureOr<Value> takeStaging(TierState &target, Operation *handle, StringRef label,
                               uint64_t bytes) {
    Operation *consumer = consumerOf(handle->getResult(0));
    if (!consumer)
      return handle->emitOpError("is taken for no call");
    FailureOr<Staging::Spot> spot =
        target.staging->take(handle, consumer, activations_, stagedBytes(handle->getResult(0)));
    if (failed(spot))
      return failure();
    stagingFree_.clear();
    if (spot->after) {
      // The host's staging is free when its last tile has gone up.
      auto &ends = &target == &compute() ? callEnds_ : moveEnds_;
      auto end = ends.find(spot->after);
      if (end == ends.end())
        return handle->emitOpError("comes before what lies in its place has been released");
      stagingFree_.push_back(end->second);
    }
    if (&target == &compute()) {
      carriedWaits_.notePiece(consumer, spot->slotBegin, spot->slotEnd);
      for (Operation *call : spot->overtaken)
        llvm::append_range(unwaitedStores_, storeEnds_.lookup(call));
      llvm::append_range(stagingFree_, unwaitedStores_);
    }
    return buffer(label, target.arena.getTier(), spot->offset, bytes,
                  isGatheredIn(handle->getResult(0)) ? bytes : 0);
  }

  LogicalResult convertMove(zero::MoveOp move) {
    zero::FetchOp fetch = zero::fetchOf(move.getHandle());
    zero::StateOp state = stateOf(fetch);
    Place source = handlePlaces_[move.getSource().getDefiningOp()];
    TierState &target = tier(move.getTo());
    FailureOr<Value> place = takeStaging(target, move, state.getName(), extentOf(fetch).second);
    if (failed(place))
      return failure();
    llvm::append_range(stagingFree_, source.ready);
    unwaitedStores_.clear();
    Value end = emitCopy(state, source.buffer, *place, rt::Stream::copy_up, stagingFree_);
    handlePlaces_[move] = {*place, {end}};
    moveEnds_[consumerOf(move.getHandle())] = end;
    return success();
  }

  /// In place: the part lies where it belongs in the whole.
  LogicalResult convertGather(zero::GatherOp gather) {
    if (!isGatheredIn(gather.getSource()))
      return gather.emitOpError("gathers in another tier than kernels compute on");
    zero::StateOp state = stateOf(zero::fetchOf(gather.getSource()));
    Place source = handlePlaces_[gather.getSource().getDefiningOp()];
    auto own = cast<rt::BufferOp>(source.buffer.getDefiningOp());
    Value whole = buffer(state.getName(), own.getTier(), own.getOffset(), ranks_ * own.getBytes());
    Value end = emitGather(gather.getLoc(), state, source.buffer, whole, source.ready);
    handlePlaces_[gather] = {whole, {end}};
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Values that wait on the drive
  //===--------------------------------------------------------------------===//

  Value onDrive(zero::OffloadOp offload) {
    auto type = cast<RankedTensorType>(offload.getValue().getType());
    return buffer(plan::nameOf(offload.getLoc()), zero::Tier::nvme, activations_.driveOffsetOf(offload), nn::tensorBytes(type));
  }

  LogicalResult convertOffload(zero::OffloadOp offload) {
    Operation *made = offload.getValue().getDefiningOp();
    auto end = callEnds_.find(made);
    if (end == callEnds_.end())
      return offload.emitOpError("is of what no call or look-up gives");
    Value place = driveBuffers_[offload] = onDrive(offload);
    offloadEnds_[offload] = rt::CopyOp::create(builder_, offload.getLoc(), eventType_, activation(offload.getValue()),
                                               place, rt::Stream::write, end->second, label(offload));
    return success();
  }

  /// Its bytes are free when all that stands before it has ended: the last command that computes, look-ups behind that,
  /// and what the next one finds written.
  LogicalResult convertRestore(zero::RestoreOp restore) {
    SmallVector<Value> after(pendingLookups_);
    llvm::append_range(after, settled_);
    if (lastCompute_)
      after.push_back(lastCompute_);
    restoreEnds_[restore] = rt::CopyOp::create(builder_, restore.getLoc(), eventType_,
                                               driveBuffers_.lookup(restore.getOffload()), activation(restore.getResult()),
                                               rt::Stream::read, after, label(restore));
    carriedWaits_.noteRestored(restoreEnds_[restore], nextMoment_);
    return success();
  }

  /// What lies behind a value that a kernel takes. Only the first one that takes what was restored waits for it.
  Place placeOf(Value value) {
    Operation *source = plan::sourceOf(value).getDefiningOp();
    if (auto view = dyn_cast_if_present<zero::ViewOp>(source))
      return handlePlaces_[view.getHandle().getDefiningOp()];
    Place place{activation(value), {}};
    if (auto end = restoreEnds_.find(source); end != restoreEnds_.end()) {
      place.ready.push_back(end->second);
      restoreEnds_.erase(end);
    }
    return place;
  }

  LogicalResult convertLookup(zero::LookupOp lookup) {
    auto state = symbols_.lookupNearestSymbolFrom<zero::StateOp>(module_, lookup.getStateAttr());
    if (state.getLayout() && state.getLayoutAttr().getDim() != 0)
      return lookup.emitOpError("picks rows of a state whose panels are not along them");
    auto indices = cast<RankedTensorType>(lookup.getIndices().getType());
    StringRef indexType = indices.getElementType().isInteger(32) ? "i32" : "i64";
    Value resident = wholeStates_.lookup(state);
    if (resident && cast<rt::BufferOp>(resident.getDefiningOp()).getTier() !=
                        compute().arena.getTier())
      resident = {};
    SmallVector<Value> after(std::exchange(settled_, {}));
    Value staging;
    if (resident) {
      after.append(pendingLookups_);
      pendingLookups_.clear();
    } else {
      staging = temporary(state.getName(), *activations_.stagingOf(lookup));
      if (lastCompute_)
        after.push_back(lastCompute_);
      after.append(pendingLookups_);
    }
    Value end = rt::LookupOp::create(builder_, lookup.getLoc(), eventType_, state.getSymName(),
                                     activation(lookup.getIndices()), indexType,
                                     activation(lookup.getResult()), resident, staging, after,
                                     label(lookup));
    callEnds_[lookup] = end;
    noteComputed(lookup, end);
    if (resident)
      lastCompute_ = end;
    else
      pendingLookups_.assign(1, end);
    return success();
  }

  LogicalResult convertCall(nn::CallOp call) {
    nn::KernelOp kernel = call.getKernel(symbols_);
    SmallVector<Value> inputs, results, after(pendingLookups_);
    llvm::append_range(after, std::exchange(settled_, {}));
    SmallVector<int64_t> origins, held;
    pendingLookups_.clear();
    bool fills = false;
    auto take = [&](Value operand, SmallVector<Value> &buffers) {
      Place place = placeOf(operand);
      fills |= place.isBlank;
      buffers.push_back(place.buffer);
      for (Value ready : place.ready)
        if (!llvm::is_contained(after, ready))
          after.push_back(ready);
    };
    for (auto [i, operand] : llvm::enumerate(call.getInputs())) {
      take(operand, inputs);
      origins.push_back(tileUnitsOf(operand).first);
      held.push_back(kernel.getArgAttr(i, nn::depthTiledAttrName) ? tileUnitsOf(operand).second : 0);
    }
    for (auto [i, result] : llvm::enumerate(call.getResults())) {
      Value target = call.getInto().empty() ? result : call.getInto()[i];
      take(target, results);
      origins.push_back(tileUnitsOf(target).first);
      held.push_back(0);
    }
    auto units = call.getUnits() ? SmallVector<int64_t>(*call.getUnits())
                                 : SmallVector<int64_t>{0, static_cast<int64_t>(kernel.getUnits())};
    for (SmallVector<int64_t> *entries : {&origins, &held})
      if (llvm::all_of(*entries, [](int64_t entry) { return entry == 0; }))
        entries->clear();
    auto scratchIndex = activations_.scratchOf(call);
    Value scratch = scratchIndex ? temporary("scratch", *scratchIndex) : Value();
    lastCompute_ = rt::LaunchOp::create(builder_, call.getLoc(), eventType_, call.getCallee(), inputs, results,
                                        units, origins, held, scratch,
                                        scratch ? plan::scratchPerThread(kernel) : 0, after,
                                        label(call));
    callEnds_[call] = lastCompute_;
    noteComputed(call, lastCompute_);
    if (fills)
      carriedWaits_.noteFill(call, lastCompute_);
    return success();
  }

  void noteComputed(Operation *op, Value command) {
    int64_t moment = activations_.momentOf(op);
    carriedWaits_.noteComputed(command, moment);
    nextMoment_ = moment + 1;
  }

  /// What stays where kernels compute is written by the checkpoint; the rest goes home at once.
  LogicalResult convertStore(zero::StoreOp store) {
    zero::FetchOp fetch = zero::fetchOf(store.getHandle());
    zero::StateOp state = stateOf(fetch);
    rewritten_.insert(state);
    zero::Tier home = homeOf(fetch), computed = compute().arena.getTier();
    if (home == computed)
      return success();
    if (fetch.getPart())
      return store.emitOpError("is of a tile that comes by parts");
    auto *call = store.getValue().getDefiningOp();
    Value source = handlePlaces_[store.getHandle().getDefiningOp()].buffer;
    auto [offset, bytes] = extentOf(fetch);
    if (computed == zero::Tier::host) {
      rt::WriteOp write = emitWrite(state, offset, source, callEnds_[call]);
      storeEnds_[call].push_back(write);
      carriedWaits_.noteWrite(call, write);
      return success();
    }
    SmallVector<Value> after{callEnds_[call]};
    if (home == zero::Tier::host) {
      storeEnds_[call].push_back(emitCopy(state, source, placeAtHome(fetch), rt::Stream::copy_down, after));
      return success();
    }
    Outgoing &outgoing = *tier(zero::Tier::host).outgoing;
    std::optional<Outgoing::Spot> spot = outgoing.take(bytes);
    if (!spot)
      return store.emitOpError("takes more bytes than the host has for what goes down");
    llvm::append_range(after, spot->after);
    Value onHost = buffer(state.getName(), zero::Tier::host, spot->offset, bytes);
    Value down = emitCopy(state, source, onHost, rt::Stream::copy_down, after);
    storeEnds_[call].push_back(down);
    rt::WriteOp write = emitWrite(state, offset, onHost, down);
    outgoing.noteWrite(write);
    carriedWaits_.noteOutgoing(down, write, spot->offset, spot->offset + plan::StagingRing::slotBytes(bytes));
    return success();
  }

  LogicalResult emitCheckpoint() {
    SmallVector<plan::ResidentRun> runs;
    for (auto &t : tiers_)
      llvm::copy_if(t->residents.runs(), std::back_inserter(runs),
                    [&](const plan::ResidentRun &run) { return rewritten_.contains(run.state) && run.bytes != 0; });
    if (runs.empty())
      return success();
    builder_.setInsertionPointToEnd(&program_.getBody().front());
    auto checkpoint = rt::CheckpointOp::create(builder_, program_.getLoc());
    builder_.setInsertionPointToEnd(&checkpoint.getBody().emplaceBlock());
    halfEmptied_ = {};
    for (plan::ResidentRun run : runs) {
      zero::StateOp state = run.state;
      zero::Tier home = state.getTileHome(run.firstTile);
      if (home != zero::Tier::device)
        emitWrite(state, run.stateOffset, buffer(state.getName(), home, run.offset, run.bytes), {});
      else if (failed(storeThroughHost(run)))
        return failure();
    }
    return success();
  }

  /// The first unit of the state that a kernel's operand holds, and how many; zeros where it is whole.
  std::pair<int64_t, int64_t> tileUnitsOf(Value operand) {
    auto view = plan::sourceOf(operand).getDefiningOp<zero::ViewOp>();
    zero::FetchOp fetch = view ? zero::fetchOf(view.getHandle()) : zero::FetchOp();
    if (!fetch || !fetch.getTile())
      return {0, 0};
    auto [begin, end] = stateOf(fetch).getTileUnits(*fetch.getTile());
    return {begin, end - begin};
  }

  StringAttr label(Operation *op) {
    StringRef name = plan::nameOf(op->getLoc());
    return name.empty() ? StringAttr() : builder_.getStringAttr(name);
  }

  func::FuncOp function_;
  ModuleOp module_;
  int64_t threads_, ranks_;
  plan::Activations activations_;
  SymbolTableCollection symbols_;
  std::vector<std::unique_ptr<TierState>> tiers_;

  rt::ProgramOp program_;
  /// Before the prologue, and in the list at hand.
  OpBuilder places_{function_.getContext()}, builder_;
  CarriedWaits carriedWaits_;
  /// The moment before which transfers are issued now.
  int64_t nextMoment_ = 0;
  Type bufferType_ = rt::BufferType::get(builder_.getContext());
  Type eventType_ = rt::EventType::get(builder_.getContext());
  DenseMap<uint32_t, Value> activationBuffers_;
  /// Of parts of activations, by place and bytes.
  std::map<std::tuple<uint32_t, uint64_t, uint64_t>, Value> viewBuffers_;
  DenseMap<std::pair<Operation *, int64_t>, Value> residentBuffers_;
  DenseMap<Operation *, Value> wholeStates_;
  /// The half of the host's staging that the next piece passes through, and what empties each in the list at hand.
  unsigned passed_ = 0;
  std::array<Value, 2> halfEmptied_;

  DenseMap<Operation *, Place> handlePlaces_;
  /// Of calls and look-ups, and of moves by the call that they are for.
  DenseMap<Operation *, Value> callEnds_, moveEnds_;
  /// When the new values that each call has computed have left the staging where kernels compute.
  DenseMap<Operation *, SmallVector<Value, 1>> storeEnds_;
  DenseSet<Operation *> rewritten_;
  SmallVector<Value> stagingFree_;
  /// What brings new values out of staging that is taken again. The first transfer into it waits for them; later ones
  /// start after it.
  SmallVector<Value> unwaitedStores_;
  /// The last command on the compute stream, and look-ups that no later command on
  /// it waits for yet.
  Value lastCompute_;
  SmallVector<Value> pendingLookups_;

  /// Of values that wait on the drive, by offload; and by restore, of those that no command has waited for.
  DenseMap<Operation *, Value> driveBuffers_, offloadEnds_, restoreEnds_;
  /// Writes that the next call or look-up finds ended.
  SmallVector<Value> settled_;
};

class ConvertZeroToRt : public spillway::impl::ConvertZeroToRtPassBase<ConvertZeroToRt> {
public:
  using ConvertZeroToRtPassBase::ConvertZeroToRtPassBase;

private:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto arenas = module->getAttrOfType<ArrayAttr>(zero::arenasAttrName);
    if (!arenas || arenas.empty()) {
      module.emitError("needs ") << zero::arenasAttrName << ": which memory there is";
      return signalPassFailure();
    }
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      FailureOr<plan::Activations> activations = plan::Activations::of(function, threads);
      if (failed(activations) ||
          failed(ProgramBuilder(function, arenas, threads, ranks, std::move(*activations)).build()))
        return signalPassFailure();
    }
    module->removeAttr(zero::arenasAttrName);
  }
};

} // namespace
