#include "dialects/Zero/Linked.h"
#include "dialects/Zero/Zero.h"
#include "runtime/device/KernelAbi.h"
#include "runtime/state/State.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

#include <numeric>

using namespace mlir;
using namespace spillway::zero;

#define GET_OP_CLASSES
#include "dialects/Zero/ZeroOps.cpp.inc"

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

int64_t StateOp::getUnitCount() {
  RankedTensorType type = getTensorType();
  return type.getRank() ? llvm::divideCeil(type.getDimSize(getUnitDim()), getUnitWidth()) : 1;
}

int64_t StateOp::getUnitBytes() {
  RankedTensorType type = getTensorType();
  return getUnitWidth() * nn::panelDepth(type, getUnitDim()) *
         nn::elementBytes(type.getElementType());
}

int64_t StateOp::getStoredBytes() {
  return getLayout() ? getUnitCount() * getUnitBytes() : nn::tensorBytes(getTensorType());
}

int64_t StateOp::getChunkUnits() {
  constexpr auto block = static_cast<int64_t>(blockBytes);
  int64_t unitBytes = getUnitBytes();
  // Panels of columns are made from a piece of each row of a linked file: a block at least.
  if (isLinked(*this) && getLayout() && getLayoutAttr().getDim() == 1)
    return block / std::gcd(block, getUnitWidth() * nn::elementBytes(getTensorType().getElementType()));
  return unitBytes ? block / std::gcd(block, unitBytes) : 1;
}

int64_t StateOp::getPartUnits(int64_t tile) {
  auto [begin, end] = getTileUnits(tile);
  return llvm::alignTo(llvm::divideCeil(end - begin, static_cast<int64_t>(*getPartition())),
                       getChunkUnits());
}

RankedTensorType StateOp::getPartType(int64_t tile) {
  RankedTensorType type = getTensorType();
  SmallVector<int64_t> shape(type.getShape());
  if (!shape.empty())
    shape[getUnitDim()] = getPartUnits(tile) * getUnitWidth();
  return type.clone(shape);
}

int64_t StateOp::getTileCount() {
  return getTile() ? llvm::divideCeil(getUnitCount(), static_cast<int64_t>(*getTile())) : 1;
}

std::pair<int64_t, int64_t> StateOp::getTileUnits(int64_t tile) {
  int64_t units = getUnitCount();
  if (!getTile())
    return {0, units};
  int64_t size = *getTile();
  return {tile * size, std::min(units, (tile + 1) * size)};
}

RankedTensorType StateOp::getTileType(int64_t tile) {
  RankedTensorType type = getTensorType();
  if (!getTile())
    return type;
  auto [begin, end] = getTileUnits(tile);
  SmallVector<int64_t> shape(type.getShape());
  if (!shape.empty()) {
    int64_t &size = shape[getUnitDim()];
    size = std::min(end * getUnitWidth(), size) - begin * getUnitWidth();
  }
  return type.clone(shape);
}

Tier StateOp::getTileHome(int64_t tile) {
  if (!getHome())
    return Tier::nvme;
  ArrayAttr home = *getHome();
  return cast<TierAttr>(home[home.size() == 1 ? 0 : tile]).getValue();
}

/// Whether `source` gives the elements of a tensor of `type`.
static LogicalResult verifySource(StateOp state, Attribute source, RankedTensorType type) {
  if (auto rounded = dyn_cast<RoundedAttr>(source)) {
    if (!isa<Float16Type, BFloat16Type>(type.getElementType()))
      return state.emitOpError("C4: a source is rounded to f16 or bf16, not to ") << type.getElementType();
    return verifySource(state, rounded.getSource(), type.clone(Float32Type::get(state.getContext())));
  }
  if (auto file = dyn_cast<FileAttr>(source);
      file && !file.getVarint() && file.getBytes() != static_cast<uint64_t>(spillway::nn::tensorBytes(type)))
    return state.emitOpError("C4: the source has ")
           << file.getBytes() << " bytes, the tensor " << spillway::nn::tensorBytes(type);
  if (auto splat = dyn_cast<SplatAttr>(source); splat && splat.getValue().getType() != type.getElementType())
    return state.emitOpError("C4: the splat must have the element type");
  if (auto elements = dyn_cast<ElementsAttr>(source); elements && elements.getType() != type)
    return state.emitOpError("C4: the elements must have the state's type");
  return success();
}

LogicalResult StateOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isIntOrFloat())
    return emitOpError("C1: the type must be a static tensor of integers or floats");
  if (auto layout = getLayoutAttr();
      layout && type.getRank() != 2 && (type.getRank() < 2 || layout.getDim() != 0))
    return emitOpError("C2: a panel layout needs rank 2, not ") << type.getRank();
  if (getTile() && static_cast<int64_t>(*getTile()) < 1)
    return emitOpError("C3: a tile must have at least one unit");
  if (auto home = getHome())
    if (home->size() != 1 && static_cast<int64_t>(home->size()) != getTileCount())
      return emitOpError("C3: home must have one tier, or one per tile (")
             << getTileCount() << "), not " << home->size();
  if (failed(verifySource(*this, getSource(), type)))
    return failure();
  if (auto file = dyn_cast<FileAttr>(getSource()); isLinked(*this) && (!file || file.getVarint()))
    return emitOpError("a linked state needs a raw file as its source");
  if (auto rows = getRows(); rows && (static_cast<int64_t>(*rows) < 1 || getLayout() || type.getRank() == 0))
    return emitOpError("C6: rows must be at least 1, of a tensor that has rows and no panels");
  constexpr uint64_t mostRanks = 1 << 16;
  if (auto ranks = getPartition(); ranks && (*ranks < 1 || *ranks > mostRanks))
    return emitOpError("C5: a partition must be between 1 and 65536 ranks");
  if (getPartition() && getTileCount() > 1 && *getTile() % getTileGrain() != 0)
    return emitOpError("C5: a tile over ")
           << *getPartition() << " ranks must be a multiple of " << getTileGrain() << " units";
  return success();
}

//===----------------------------------------------------------------------===//
// Users of states
//===----------------------------------------------------------------------===//

DenseMap<StringAttr, SmallVector<Operation *>> spillway::zero::usersOfStates(ModuleOp module) {
  DenseMap<StringAttr, SmallVector<Operation *>> users;
  module.walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<UseOp, LookupOp>([&](auto user) { users[user.getStateAttr().getAttr()].push_back(op); })
        .Case([&](UpdateOp update) {
          for (auto name : update.getStates().getAsRange<FlatSymbolRefAttr>())
            users[name.getAttr()].push_back(op);
        });
  });
  return users;
}

namespace {

FailureOr<StateOp> lookupState(Operation *op, FlatSymbolRefAttr name,
                               SymbolTableCollection &symbols) {
  if (auto state = symbols.lookupNearestSymbolFrom<StateOp>(op, name))
    return state;
  op->emitOpError("C1: no state ") << name;
  return failure();
}

/// The type of what a use or fetch of `tile` gives.
FailureOr<RankedTensorType> usedType(Operation *op, StateOp state, std::optional<uint64_t> tile) {
  if (!tile)
    return state.getTensorType();
  if (static_cast<int64_t>(*tile) >= state.getTileCount() || static_cast<int64_t>(*tile) < 0) {
    op->emitOpError("C2: no tile ") << *tile << ", @" << state.getSymName() << " has "
                                    << state.getTileCount();
    return failure();
  }
  return state.getTileType(*tile);
}

} // namespace

SmallVector<Operation *> spillway::zero::readersOf(Value value) {
  SmallVector<Operation *> readers;
  SmallVector<Value> views{value};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      if (isa<nn::ReshapeOp, nn::SliceOp>(user))
        views.push_back(user->getResult(0));
      else
        readers.push_back(user);
    }
  return readers;
}

/// The use of a state that a call computes `value` into; null where it is none.
static UseOp targetOf(Value value) {
  auto result = dyn_cast<OpResult>(value);
  auto call = result ? dyn_cast<spillway::nn::CallOp>(result.getOwner()) : spillway::nn::CallOp();
  return call && !call.getInto().empty() ? call.getInto()[result.getResultNumber()].getDefiningOp<UseOp>() : UseOp();
}

LogicalResult spillway::zero::verifyUpdates(FunctionOpInterface function) {
  DenseMap<Attribute, Operation *> next;
  bool valid = true;
  function->walk([&](UpdateOp update) {
    for (auto [name, value] : llvm::zip_equal(update.getStates(), update.getValues())) {
      next[name] = value.getDefiningOp();
      UseOp target = targetOf(value);
      if (target && target.getStateAttr() == name && target.getTileAttr() == update.getTileAttr())
        continue;
      valid = false;
      update.emitOpError("the value of ") << name << " is no result of a call into a use of it";
    }
  });
  function->walk([&](nn::CallOp call) {
    for (Value result : call.getResults())
      if (targetOf(result) && !(result.hasOneUse() && isa<UpdateOp>(*result.user_begin()))) {
        valid = false;
        call.emitOpError("computes into a state that no update gives the value");
      }
  });
  auto check = [&](Operation *reader, FlatSymbolRefAttr state) {
    Operation *computed = next.lookup(state);
    if (!computed || reader == computed || isa<UpdateOp>(reader) || reader->isBeforeInBlock(computed))
      return;
    valid = false;
    reader->emitOpError("takes the old value of ") << state << " after the new one was computed";
  };
  function->walk([&](UseOp use) {
    for (Operation *reader : readersOf(use))
      check(reader, use.getStateAttr());
  });
  function->walk([&](LookupOp lookup) { check(lookup, lookup.getStateAttr()); });
  return success(valid);
}

LogicalResult UseOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<StateOp> state = lookupState(*this, getStateAttr(), symbols);
  if (failed(state))
    return failure();
  FailureOr<RankedTensorType> type = usedType(*this, *state, getTile());
  if (failed(type))
    return failure();
  if (getType() != *type)
    return emitOpError("C1: the result must be ") << *type;
  return success();
}

LogicalResult LookupOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<StateOp> state = lookupState(*this, getStateAttr(), symbols);
  if (failed(state))
    return failure();
  RankedTensorType type = state->getTensorType();
  if (type.getRank() < 1)
    return emitOpError("C1: the state has no rows");
  SmallVector<int64_t> shape(cast<RankedTensorType>(getIndices().getType()).getShape());
  llvm::append_range(shape, type.getShape().drop_front());
  if (getType() != type.clone(shape))
    return emitOpError("C2: the result must be ") << type.clone(shape);
  return success();
}

LogicalResult UpdateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getStates().size() != getValues().size() || getStates().empty())
    return emitOpError("C1: there must be one value for each state");
  for (auto [name, value] : llvm::zip_equal(getStates().getAsRange<FlatSymbolRefAttr>(), getValues())) {
    FailureOr<StateOp> state = lookupState(*this, name, symbols);
    if (failed(state))
      return failure();
    FailureOr<RankedTensorType> type = usedType(*this, *state, getTile());
    if (failed(type))
      return failure();
    if (value.getType() != *type)
      return emitOpError("C1: the value of ") << name << " must be " << *type;
    if (!state->getRewritten())
      return emitOpError("C3: ") << name << " is not rewritten";
  }
  return success();
}

LogicalResult FetchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<StateOp> state = lookupState(*this, getStateAttr(), symbols);
  if (failed(state))
    return failure();
  FailureOr<RankedTensorType> type = usedType(*this, *state, getTile());
  if (failed(type))
    return failure();
  if (getPart() && !state->getPartition())
    return emitOpError("C3: @") << state->getSymName() << " is not partitioned";
  if (getPart() && !getTile() && state->getTileCount() > 1)
    return emitOpError("C3: a part is of one tile; @") << state->getSymName() << " has several";
  if (getPart() && getBlank())
    return emitOpError("C4: a part cannot be blank");
  if (getPart())
    type = state->getPartType(getTile().value_or(0));
  if (getHandle().getType() != HandleType::get(getContext(), *type, getTo()))
    return emitOpError("C1: the handle must hold ") << *type << " in " << stringifyTier(getTo());
  Tier home = state->getTileHome(getTile().value_or(0));
  if (getTo() == Tier::nvme || (home != Tier::nvme && !getBlank() && getTo() != home))
    return emitOpError("C2: from ") << stringifyTier(home) << " a tile cannot be fetched to "
                                    << stringifyTier(getTo());
  return success();
}

LogicalResult MoveOp::verify() {
  HandleType from = getSource().getType(), to = getHandle().getType();
  if (from.getTensor() != to.getTensor() || to.getTier() != getTo() ||
      from.getTier() == to.getTier() || from.getTier() == Tier::nvme || to.getTier() == Tier::nvme)
    return emitOpError("C1: cannot move ") << from << " to " << to;
  return success();
}

LogicalResult GatherOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FetchOp fetch = fetchOf(getSource());
  if (!fetch || !fetch.getPart())
    return emitOpError("C1: the source must be a part that was fetched");
  FailureOr<StateOp> state = lookupState(*this, fetch.getStateAttr(), symbols);
  if (failed(state))
    return failure();
  int64_t tile = fetch.getTile().value_or(0);
  HandleType source = getSource().getType();
  if (source.getTensor() != state->getPartType(tile))
    return emitOpError("C1: the source must be a part, not gathered yet");
  auto whole = HandleType::get(getContext(), state->getTileType(tile), source.getTier());
  if (getHandle().getType() != whole)
    return emitOpError("C2: the result must be ") << whole;
  return success();
}

LogicalResult StoreOp::verify() {
  auto result = dyn_cast<OpResult>(getValue());
  auto call = result ? dyn_cast<nn::CallOp>(result.getOwner()) : nn::CallOp();
  ViewOp view;
  if (call && result.getResultNumber() < call.getInto().size())
    view = call.getInto()[result.getResultNumber()].getDefiningOp<ViewOp>();
  if (!view || view.getHandle() != getHandle() || getValue().getType() != view.getType())
    return emitOpError("C1: the value must be the result of a call into a view of the handle");
  if (FetchOp fetch = fetchOf(getHandle()); fetch && fetch.getPart() && !getHandle().getDefiningOp<GatherOp>())
    return emitOpError("C2: the handle holds a part");
  return success();
}

LogicalResult ViewOp::verify() {
  if (getType() != getHandle().getType().getTensor())
    return emitOpError("C1: the handle holds ") << getHandle().getType().getTensor();
  return success();
}

LogicalResult OffloadOp::verify() {
  auto held = HandleType::get(getContext(), cast<RankedTensorType>(getValue().getType()), Tier::nvme);
  if (getHandle().getType() != held)
    return emitOpError("C1: the handle must be ") << held;
  return success();
}

template <typename Op> static LogicalResult requireOffload(Op op) {
  if (!op.getOffload())
    return op.emitOpError("C1: the handle is no offloaded value");
  return success();
}

LogicalResult SettleOp::verify() { return requireOffload(*this); }

LogicalResult RestoreOp::verify() {
  if (failed(requireOffload(*this)))
    return failure();
  if (getType() != getHandle().getType().getTensor())
    return emitOpError("C2: the handle holds ") << getHandle().getType().getTensor();
  return success();
}
