#include "dialects/Zero/Zero.h"
#include "spillway/Plan/Activations.h"
#include "spillway/Plan/Prefetch.h"
#include "spillway/Plan/Residents.h"
#include "spillway/Transforms/Zero/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spillway::zero {
#define GEN_PASS_DEF_ZEROSCHEDULEPASS
#include "spillway/Transforms/Zero/Passes.h.inc"
} // namespace spillway::zero

using namespace mlir;
using namespace spillway;
using namespace spillway::zero;

namespace {

/// A state, or a tile of one, that a call takes.
struct Need {
  StateOp state;
  IntegerAttr tile;
  RankedTensorType type;
  Tier home;
  /// Whether this rank's part of it comes in, and the whole is gathered.
  bool isPart;
  /// Operands of the call that are it, perhaps through reshapes.
  SmallVector<OpOperand *, 1> operands;
  /// In the tier of its home or, from NVMe, above it.
  Value handle;
  /// Where kernels compute.
  Value ready;

  std::optional<int64_t> tileNumber() const {
    return tile ? std::optional(tile.getInt()) : std::nullopt;
  }
  int64_t partNumber() const { return tileNumber().value_or(0); }
  /// Whether the call overwrites all of it, and reads nothing.
  bool isBlank() {
    bool isLast = !tile || tile.getInt() + 1 == state.getTileCount();
    if (isLast && plan::endsInPadding(state))
      return false;
    return llvm::all_of(operands, [](OpOperand *operand) {
      auto call = dyn_cast<nn::CallOp>(operand->getOwner());
      return call && operand->getOperandNumber() >= call.getInputs().size();
    });
  }
};

/// A call or look-up, with what it needs.
struct Moment {
  Operation *op;
  SmallVector<Need, 2> needs;
};

class FunctionScheduler {
public:
  FunctionScheduler(func::FuncOp function, ArrayAttr arenas, plan::Activations activations)
      : function_(function), activations_(std::move(activations)) {
    auto compute = cast<ArenaAttr>(arenas[0]);
    computeTier_ = compute.getTier();
    stagingBytes_ = compute.getStaging();
    if (arenas.size() > 1)
      hostStagingBytes_ = cast<ArenaAttr>(arenas[1]).getStaging();
  }

  LogicalResult run() {
    collectMoments();
    if (failed(decideIssues()))
      return failure();
    OpBuilder builder(function_.getContext());
    builder.setInsertionPointToStart(&function_.getBody().front());
    issueAt(-1, builder);
    for (auto [index, moment] : llvm::enumerate(moments_)) {
      builder.setInsertionPoint(moment.op);
      for (Need &need : moment.needs)
        view(need, builder);
      builder.setInsertionPointAfter(moment.op);
      for (Need &need : llvm::reverse(moment.needs))
        ReleaseOp::create(builder, moment.op->getLoc(), need.ready);
      issueAt(static_cast<int64_t>(index), builder);
    }
    storeUpdates();
    eraseUnused();
    return verifyHandles(cast<FunctionOpInterface>(function_.getOperation()));
  }

  int64_t streamed = 0, resident = 0;

private:
  void collectMoments() {
    for (Operation &op : function_.getBody().front()) {
      if (!isa<nn::CallOp, LookupOp>(op))
        continue;
      Moment moment{&op, {}};
      for (OpOperand &operand : op.getOpOperands())
        if (auto use = plan::sourceOf(operand.get()).getDefiningOp<UseOp>())
          addNeed(moment, use, operand);
      moments_.push_back(std::move(moment));
    }
  }

  void addNeed(Moment &moment, UseOp use, OpOperand &operand) {
    auto state = symbols_.lookupNearestSymbolFrom<StateOp>(use, use.getStateAttr());
    for (Need &need : moment.needs)
      if (need.state == state && need.tile == use.getTileAttr()) {
        need.operands.push_back(&operand);
        return;
      }
    Tier home = state.getTileHome(use.getTile().value_or(0));
    bool isPart = home != computeTier_ && state.getPartition() &&
                  (use.getTile() || state.getTileCount() == 1);
    moment.needs.push_back({state, use.getTileAttr(), cast<RankedTensorType>(use.getType()), home,
                            isPart, {&operand}, {}, {}});
    (moment.needs.back().home == computeTier_ ? resident : streamed) += 1;
  }


  LogicalResult decideIssues() {
    plan::Prefetcher prefetcher(stagingBytes_, hostStagingBytes_, activations_.room());
    int64_t lastLookup = -1;
    for (auto [index, moment] : llvm::enumerate(moments_)) {
      if (isa<LookupOp>(moment.op))
        lastLookup = static_cast<int64_t>(index);
      plan::StagedPiece piece;
      piece.moment = static_cast<int64_t>(index);
      piece.notBefore = lastLookup;
      piece.wholeMoment = activations_.momentOf(moment.op);
      piece.isLastPart = activations_.endsMoment(moment.op);
      auto call = dyn_cast<nn::CallOp>(moment.op);
      piece.rewrites = call && plan::rewritesStates(call);
      bool isStaged = false;
      for (Need &need : moment.needs) {
        if (need.home == computeTier_)
          continue;
        isStaged = true;
        uint64_t whole = plan::tileExtent(need.state, need.tileNumber()).second;
        piece.bytes += need.isPart ? plan::gatheredExtent(need.state, need.partNumber()) : whole;
        if (computeTier_ == Tier::device && need.home == Tier::nvme && !need.isBlank())
          piece.hostBytes += need.isPart ? plan::partExtent(need.state, need.partNumber()) : whole;
      }
      if (!isStaged)
        continue;
      auto issue = prefetcher.next(piece);
      if (!issue)
        return moment.op->emitOpError("takes ")
               << piece.bytes << " bytes of states at once, more than the staging";
      pieces_.push_back({piece.moment, *issue});
    }
    return success();
  }

  /// Issues what may start after a moment, in the order of the calls.
  void issueAt(int64_t moment, OpBuilder &builder) {
    bool progress = true;
    while (progress) {
      progress = false;
      for (; nextFetch_ < pieces_.size() && pieces_[nextFetch_].issue.fetchAfter <= moment &&
             pieces_[nextFetch_].issue.movedBefore < static_cast<int64_t>(nextMove_);
           ++nextFetch_, progress = true)
        for (Need &need : moments_[pieces_[nextFetch_].moment].needs)
          if (need.home != computeTier_ && !(need.isBlank() && computeTier_ == Tier::device))
            fetch(need, Tier::host, builder);
      for (; nextMove_ < nextFetch_ && pieces_[nextMove_].issue.moveAfter <= moment;
           ++nextMove_, progress = true)
        for (Need &need : moments_[pieces_[nextMove_].moment].needs)
          if (need.home != computeTier_)
            move(need, builder);
    }
  }

  void fetch(Need &need, Tier tier, OpBuilder &builder) {
    RankedTensorType held =
        need.isPart ? need.state.getPartType(need.partNumber()) : need.type;
    auto type = HandleType::get(builder.getContext(), held, tier);
    need.handle = FetchOp::create(builder, need.operands.front()->getOwner()->getLoc(), type,
                                  need.state.getSymName(), need.tile, need.isPart, need.isBlank(), tier);
  }

  /// Brings a fetched need to where kernels compute, whole. What is blank has not been fetched below.
  void move(Need &need, OpBuilder &builder) {
    if (!need.handle)
      fetch(need, computeTier_, builder);
    need.ready = need.handle;
    Location loc = need.handle.getLoc();
    auto replace = [&](auto create, RankedTensorType held) {
      Value source = need.ready;
      need.ready = create(HandleType::get(builder.getContext(), held, computeTier_), source);
      ReleaseOp::create(builder, loc, source);
    };
    auto held = cast<HandleType>(need.handle.getType());
    if (held.getTier() != computeTier_)
      replace(
          [&](Type type, Value source) -> Value {
            return MoveOp::create(builder, loc, type, source, computeTier_);
          },
          held.getTensor());
    if (need.isPart)
      replace(
          [&](Type type, Value source) -> Value {
            return GatherOp::create(builder, loc, type, source);
          },
          need.type);
  }

  void view(Need &need, OpBuilder &builder) {
    if (need.home == computeTier_) {
      fetch(need, computeTier_, builder);
      need.ready = need.handle;
    }
    Value view = ViewOp::create(builder, need.operands.front()->getOwner()->getLoc(), need.type,
                                need.ready);
    for (OpOperand *operand : need.operands) {
      Type type = operand->get().getType();
      operand->set(type == need.type
                       ? view
                       : nn::ReshapeOp::create(builder, view.getLoc(), type, view).getResult());
    }
  }

  /// What was computed over a handle's bytes goes home before the handle is released.
  void storeUpdates() {
    for (auto update : llvm::make_early_inc_range(function_.getBody().front().getOps<UpdateOp>())) {
      for (Value value : llvm::reverse(update.getValues())) {
        auto result = cast<OpResult>(value);
        auto call = cast<nn::CallOp>(result.getOwner());
        auto view = call.getInto()[result.getResultNumber()].getDefiningOp<ViewOp>();
        OpBuilder builder(call);
        builder.setInsertionPointAfter(call);
        StoreOp::create(builder, update.getLoc(), view.getHandle(), value);
      }
      update.erase();
    }
  }

  void eraseUnused() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function_.getBody().front())))
      if (isa<UseOp, nn::ReshapeOp>(op) && op.use_empty())
        op.erase();
  }

  struct IssuedPiece {
    int64_t moment;
    plan::PieceIssue issue;
  };

  func::FuncOp function_;
  plan::Activations activations_;
  Tier computeTier_;
  uint64_t stagingBytes_ = 0, hostStagingBytes_ = 0;
  SymbolTableCollection symbols_;
  std::vector<Moment> moments_;
  std::vector<IssuedPiece> pieces_;
  size_t nextFetch_ = 0, nextMove_ = 0;
};

class Schedule : public zero::impl::ZeroSchedulePassBase<Schedule> {
public:
  using ZeroSchedulePassBase::ZeroSchedulePassBase;

private:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto arenas = module->getAttrOfType<ArrayAttr>(arenasAttrName);
    if (!arenas || arenas.empty()) {
      module.emitError("needs ") << arenasAttrName << ": which memory there is";
      return signalPassFailure();
    }
    for (auto function : module.getOps<func::FuncOp>()) {
      FailureOr<plan::Activations> activations = plan::Activations::of(function, threads);
      if (failed(activations))
        return signalPassFailure();
      FunctionScheduler scheduler(function, arenas, std::move(*activations));
      if (failed(scheduler.run()))
        return signalPassFailure();
      numStreamed += scheduler.streamed;
      numResident += scheduler.resident;
    }
  }
};

} // namespace
