#include "spillway/Transforms/Passes.h"

#include "Groups.h"

#include "dialects/NN/Views.h"
#include "dialects/Zero/Zero.h"
#include "spillway/Conversion/NNToVector/ColumnRuns.h"
#include "spillway/Conversion/NNToVector/ConvPlan.h"
#include "spillway/Conversion/NNToVector/Epilogue.h"
#include "spillway/Conversion/NNToVector/GemmPlan.h"
#include "spillway/Conversion/NNToVector/KernelSpace.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace spillway {
#define GEN_PASS_DEF_NNFORMKERNELSPASS
#include "spillway/Transforms/Passes.h.inc"
} // namespace spillway

using namespace mlir;
using namespace spillway;

namespace {

bool readsMemory(Operation *op) {
  auto anchor = dyn_cast<nn::AnchorOpInterface>(op);
  return anchor && anchor.readsMemory();
}

double elements(Value value) {
  return static_cast<double>(cast<RankedTensorType>(value.getType()).getNumElements());
}

/// Whether each element follows from its place alone, or from that and a key.
bool isMadeOfPlaces(Operation *op) { return isa<nn::IotaOp, nn::RandomOp>(op) || isSplat(op); }

/// Whether each element follows in a few steps from its place and from little data, as a mask's.
bool followsFromPlace(Operation *op, unsigned steps = 4) {
  constexpr double repeats = 64;
  if (isMadeOfPlaces(op))
    return true;
  if (auto broadcast = dyn_cast<nn::BroadcastOp>(op))
    return repeats * elements(broadcast.getOperand()) <= elements(broadcast);
  return steps != 0 && OpTrait::hasElementwiseMappableTraits(op) && isCheap(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return operand.getDefiningOp() && followsFromPlace(operand.getDefiningOp(), steps - 1);
         });
}

/// Computed again in every kernel that reads it, rather than stored: it is free, or large beside what it
/// follows from.
bool isRepeatable(Operation *op) {
  constexpr int64_t largeBytes = 4 << 20;
  auto isLargeBesideSource = [&] {
    return OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1 && followsFromPlace(op) &&
           nn::tensorBytes(cast<RankedTensorType>(op->getResult(0).getType())) >= largeBytes &&
           llvm::all_of(op->getUsers(), [](Operation *user) {
             return OpTrait::hasElementwiseMappableTraits(user) || isAnchor(user);
           });
  };
  return (isMadeOfPlaces(op) || isLargeBesideSource()) && llvm::none_of(op->getUsers(), readsMemory);
}

/// What becomes one kernel.
struct Group {
  /// Where its call stands: the operation that gives the group's outputs, or an update that takes them.
  Operation *root = nullptr;
  /// Null where elements are computed one by one.
  nn::AnchorOpInterface anchor;
  llvm::SmallSetVector<Operation *, 16> members;

  zero::UpdateOp update() const { return dyn_cast<zero::UpdateOp>(root); }
  /// The values that leave the group.
  ValueRange outputs() const {
    return update() ? ValueRange(root->getOperands()) : ValueRange(root->getResults());
  }
};

/// Divides the operations of one block into groups, from the last to the first.
class Grouping {
public:
  Grouping(Block &block, const SymbolTable &symbols, int64_t maxOperations)
      : symbols(symbols), maxOperations(maxOperations) {
    for (auto update : block.getOps<zero::UpdateOp>())
      updated.insert(update.getStates().begin(), update.getStates().end());
    for (Operation &op : llvm::reverse(block.without_terminator()))
      place(&op);
  }

  /// In the order of their roots in the block, last first.
  ArrayRef<std::unique_ptr<Group>> getGroups() const { return groups; }
  /// What every kernel that reads it computes again.
  const llvm::DenseSet<Operation *> &getRepeated() const { return repeated; }

private:
  void place(Operation *op) {
    if (isa<zero::UpdateOp>(op)) {
      groups.push_back(std::make_unique<Group>());
      groups.back()->root = op;
      groupOf[op] = groups.back().get();
      return;
    }
    if (isRepeatable(op) || onlyFeedsRepeated(op) || isSharedWidening(op))
      repeated.insert(op);
    if (isSource(op) || repeated.contains(op) || op->use_empty() || staysView(op))
      return;
    if (Group *group = groupOfAllUsers(op); group && canJoin(op, *group)) {
      join(op, *group);
      return;
    }
    if (isa<nn::ReshapeOp>(op) || staysBroadcast(op))
      return;
    groups.push_back(std::make_unique<Group>());
    groups.back()->root = op;
    join(op, *groups.back());
  }

  bool onlyFeedsRepeated(Operation *op) const {
    return OpTrait::hasElementwiseMappableTraits(op) && !op->use_empty() && followsFromPlace(op) &&
           llvm::all_of(op->getUsers(), [&](Operation *user) { return repeated.contains(user); });
  }

  /// A broadcast that several kernels read: each repeats it, and none stores it.
  bool staysBroadcast(Operation *op) const { return isa<nn::BroadcastOp>(op) && isPulled(op); }

  /// A conversion to more bits that several kernels read.
  bool isSharedWidening(Operation *op) const {
    return isa<arith::ExtFOp>(op) && !op->use_empty() && isPulled(op) && !groupOfAllUsers(op);
  }

  /// Whether kernels can compute each element where they read it.
  bool isPulled(Operation *op) const {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return (groupOf.contains(user) || repeated.contains(user)) && !readsMemory(user);
    });
  }

  /// A run of elements of what several kernels read in parts, or of an argument: a place in it, as a
  /// reshape is. Kernels that read one part each, at one step of a sequence, are then equal.
  bool staysView(Operation *op) {
    auto slice = dyn_cast<nn::SliceOp>(op);
    std::optional<int64_t> first = slice ? slice.getFirstOfRun() : std::nullopt;
    if (!first || *first * nn::elementBytes(slice.getType().getElementType()) % viewAlignment != 0)
      return false;
    Value source = nn::sourceOf(slice.getOperand());
    Operation *definition = source.getDefiningOp();
    if (definition && (isa<zero::UseOp, arith::ConstantOp>(definition) || isRepeatable(definition)))
      return false;
    return (!definition || isShared(source)) && !isReturned(slice.getResult());
  }

  /// Whether a value and its views are read by more than the one group that has been made so far.
  bool isShared(Value source) {
    if (auto found = shared.find(source); found != shared.end())
      return found->second;
    Group *common = nullptr;
    SmallVector<std::pair<Value::user_iterator, Value::user_iterator>> rest{{source.user_begin(), source.user_end()}};
    while (!rest.empty()) {
      auto &[next, end] = rest.back();
      if (next == end) {
        rest.pop_back();
        continue;
      }
      Operation *user = *next++;
      if (isa<nn::ReshapeOp, nn::SliceOp>(user)) {
        Value view = user->getResult(0);
        rest.emplace_back(view.user_begin(), view.user_end());
        continue;
      }
      Group *group = groupOf.lookup(user);
      if (!group) // perhaps not yet
        return true;
      if (common && common != group)
        return shared[source] = true;
      common = group;
    }
    return shared[source] = false;
  }

  static bool isReturned(Value value) {
    return llvm::any_of(value.getUsers(), [](Operation *user) {
      return user->hasTrait<OpTrait::IsTerminator>() ||
             (isa<nn::ReshapeOp, nn::SliceOp>(user) && isReturned(user->getResult(0)));
    });
  }

  void join(Operation *op, Group &group) {
    if (zero::UpdateOp update = group.update(); update && givesSameElement(op, update))
      sameElement.insert(op);
    group.members.insert(op);
    groupOf[op] = &group;
    if (auto anchor = dyn_cast<nn::AnchorOpInterface>(op))
      group.anchor = anchor;
  }

  /// The one group that holds every user of `op`, or null.
  Group *groupOfAllUsers(Operation *op) const {
    Group *common = nullptr;
    for (Operation *user : op->getUsers()) {
      Group *group = groupOf.lookup(user);
      if (!group || (common && common != group))
        return nullptr;
      common = group;
    }
    return common;
  }

  bool canJoin(Operation *op, const Group &group) const {
    if (static_cast<int64_t>(group.members.size()) >= maxOperations)
      return false;
    if (zero::UpdateOp update = group.update(); update && !staysInPlace(op, update))
      return false;
    if (isAnchor(op))
      return !group.anchor && isEpilogue(op, group);
    if (auto reshape = dyn_cast<nn::ReshapeOp>(op); reshape && !isWorthPulling(reshape))
      return false;
    return llvm::all_of(op->getUsers(), [&](Operation *user) { return canPull(op, user); });
  }

  /// Whether `user` may ask for elements of `op` one by one.
  static bool canPull(Operation *op, Operation *user) {
    if (isa<zero::UpdateOp>(user))
      return true;
    if (auto matmul = dyn_cast<nn::MatmulOp>(user))
      return op->getResult(0) == matmul.getRhs() && op->getResult(0) != matmul.getLhs() &&
             isUnpackedWeight(op);
    // Rows and what is added to them are looked for in memory.
    if (isa<nn::AddRowsOp>(user) && !isSplat(op) &&
        llvm::any_of(op->getUses(), [&](OpOperand &use) { return use.getOwner() == user && !nn::takesSameElement(use); }))
      return false;
    if (readsMemory(user))
      return false;
    bool readsOften = isAnchor(user) && !isa<nn::ReduceOp>(user);
    bool repeats = readsOften || elements(user->getResult(0)) > elements(op->getResult(0));
    return isCheap(op) || !repeats;
  }

  /// A reshape is free between kernels; inside one it costs index arithmetic, which
  /// pays where the operation before it then needs no kernel of its own.
  static bool isWorthPulling(nn::ReshapeOp reshape) {
    Operation *producer = reshape.getOperand().getDefiningOp();
    if (!producer || isSource(producer) || !producer->hasOneUse())
      return false;
    return !isAnchor(producer) || kernels::keepsVectors(reshape);
  }

  /// Whether everything from `anchor` to the outputs can be its epilogue.
  bool isEpilogue(Operation *anchor, const Group &group) const {
    auto epilogue = kernels::Epilogue::follow(
        anchor, [&](Operation *op) { return group.members.contains(op); });
    if (!cast<nn::AnchorOpInterface>(anchor).takesEpilogue() || failed(epilogue))
      return false;
    zero::UpdateOp update = group.update();
    if (!update)
      return epilogue->keepsVectors();
    return llvm::all_of(llvm::zip_equal(update.getStates(), update.getValues()), [&](auto pair) {
      auto [name, value] = pair;
      nn::PanelsAttr layout = stateOf(name).getLayoutAttr();
      std::optional<int64_t> lanes = epilogue->lanesIn(value);
      return lanes && *lanes == (layout ? layout.getDim() : cast<RankedTensorType>(value.getType()).getRank() - 1);
    });
  }

  zero::StateOp stateOf(Attribute name) const {
    return symbols.lookup<zero::StateOp>(cast<FlatSymbolRefAttr>(name).getAttr());
  }

  /// Whether the new values can still overwrite the old ones while `op` is part of the update's
  /// kernel: an element of a state that it updates is read for the same element alone, and no other
  /// state that is updated, so that updates need no order among each other.
  bool staysInPlace(Operation *op, zero::UpdateOp update) const {
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      zero::UseOp use = readUse(operand);
      if (!use || !updated.contains(use.getStateAttr()))
        return true;
      bool isOwn = llvm::is_contained(update.getStates(), use.getStateAttr());
      return isOwn && operand == use.getResult() && givesSameElement(op, update);
    });
  }

  /// The state that a value is, perhaps in another shape, in part or repeated; null where it is none.
  static zero::UseOp readUse(Value value) {
    value = nn::sourceOf(value);
    while (auto broadcast = value.getDefiningOp<nn::BroadcastOp>())
      value = nn::sourceOf(broadcast.getOperand());
    return value.getDefiningOp<zero::UseOp>();
  }

  bool givesSameElement(Operation *op, zero::UpdateOp update) const {
    return OpTrait::hasElementwiseMappableTraits(op) && llvm::all_of(op->getUsers(), [&](Operation *user) {
             return user == update || sameElement.contains(user);
           });
  }

  const SymbolTable &symbols;
  int64_t maxOperations;
  /// States that the block updates.
  llvm::DenseSet<Attribute> updated;
  /// Members of updates of which each element follows from the same elements alone.
  llvm::DenseSet<Operation *> sameElement;
  SmallVector<std::unique_ptr<Group>> groups;
  llvm::DenseMap<Operation *, Group *> groupOf;
  llvm::DenseSet<Operation *> repeated;
  /// What isShared has found of sources all of whose readers have a group.
  llvm::DenseMap<Value, bool> shared;
};

/// Makes kernels of groups and calls of kernels, equal kernels once.
class Outliner {
public:
  explicit Outliner(ModuleOp module) : module(module), symbols(module) {}

  /// `isRepeated`: operations that the kernel computes again.
  LogicalResult outline(const Group &group, const llvm::DenseSet<Operation *> &isRepeated) {
    SmallVector<Operation *> members(group.members.begin(), group.members.end());
    llvm::sort(members, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });

    llvm::SmallSetVector<Value, 8> inputs;
    llvm::SmallSetVector<Operation *, 4> repeated;
    for (Operation *op : members)
      for (Value operand : op->getOperands())
        collect(operand, group, isRepeated, inputs, repeated);
    for (Value output : group.outputs())
      collect(output, group, isRepeated, inputs, repeated);

    FailureOr<nn::KernelOp> kernel =
        build(group, members, inputs.getArrayRef(), repeated.getArrayRef());
    if (failed(kernel))
      return failure();
    OpBuilder builder(group.root);
    // The first one stands for the kernel.
    SmallVector<Location> locations = {group.anchor ? group.anchor->getLoc() : group.root->getLoc()};
    llvm::append_range(locations, llvm::map_range(members, [](Operation *op) { return op->getLoc(); }));
    Location location = FusedLoc::get(module.getContext(), locations);
    auto call = nn::CallOp::create(builder, location, group.outputs().getTypes(),
                                   FlatSymbolRefAttr::get(*kernel), inputs.getArrayRef(),
                                   updatedValues(group, inputs.getArrayRef(), builder), nullptr);
    if (zero::UpdateOp update = group.update())
      update.getValuesMutable().assign(call.getOutputs());
    else
      group.root->replaceAllUsesWith(call.getOutputs());
    for (Operation *op : llvm::reverse(members))
      op->erase();
    ++numCalls;
    return success();
  }

  int64_t numCalls = 0;
  int64_t numKernels = 0;

private:
  /// What computes `operand` in the kernel: a member, an operation outside that the
  /// kernel repeats (whatever broadcast is left is in no group), or an input.
  static void collect(Value operand, const Group &group, const llvm::DenseSet<Operation *> &isRepeated,
                      llvm::SmallSetVector<Value, 8> &inputs, llvm::SmallSetVector<Operation *, 4> &repeated) {
    Operation *definition = operand.getDefiningOp();
    if (definition && group.members.contains(definition))
      return;
    if (!definition || !(isRepeated.contains(definition) || isa<nn::BroadcastOp>(definition))) {
      inputs.insert(operand);
      return;
    }
    for (Value inner : definition->getOperands())
      collect(inner, group, isRepeated, inputs, repeated);
    repeated.insert(definition);
  }

  /// What an update's call overwrites: the old values of its states.
  static SmallVector<Value> updatedValues(const Group &group, ArrayRef<Value> inputs, OpBuilder &builder) {
    SmallVector<Value> values;
    zero::UpdateOp update = group.update();
    if (!update)
      return values;
    for (auto [name, output] : llvm::zip_equal(update.getStates().getAsRange<FlatSymbolRefAttr>(), update.getValues())) {
      auto *known = llvm::find_if(inputs, [&](Value input) {
        auto use = input.getDefiningOp<zero::UseOp>();
        return use && use.getStateAttr() == name;
      });
      values.push_back(known != inputs.end() ? *known
                                             : zero::UseOp::create(builder, update.getLoc(), output.getType(), name,
                                                                   /*tile=*/IntegerAttr()));
    }
    return values;
  }

  FailureOr<nn::KernelOp> build(const Group &group, ArrayRef<Operation *> members,
                                ArrayRef<Value> inputs, ArrayRef<Operation *> repeated) {
    OpBuilder builder(module.getContext());
    Location location = group.root->getLoc();
    nn::AnchorOpInterface anchor = group.anchor;
    nn::Schedule schedule = anchor ? anchor.getSchedule() : nn::Schedule::map;
    auto type = builder.getFunctionType(TypeRange(inputs), group.outputs().getTypes());
    std::string stem = ("nn_" + nn::stringifySchedule(schedule)).str();
    auto kernel = nn::KernelOp::create(builder, location, stem, type, schedule, /*units=*/1,
                                       /*scratch=*/0, /*parts=*/nullptr, nullptr, nullptr, nullptr, nullptr);
    Block *body = builder.createBlock(&kernel.getBody(), {}, TypeRange(inputs),
                                      SmallVector<Location>(inputs.size(), location));
    IRMapping mapping;
    mapping.map(inputs, body->getArguments());
    for (Operation *op : llvm::concat<Operation *const>(repeated, members))
      builder.clone(*op, mapping);
    nn::YieldOp::create(builder, location, llvm::map_to_vector(group.outputs(), [&](Value output) {
                          return mapping.lookup(output);
                        }));

    auto matmul = dyn_cast_or_null<nn::MatmulOp>(anchor ? mapping.lookup(anchor->getResult(0)).getDefiningOp() : nullptr);
    kernels::ColumnRuns columns = matmul ? kernels::columnRuns(matmul) : kernels::ColumnRuns();
    for (auto [i, input] : llvm::enumerate(inputs))
      markWeight(kernel, i, input, columns.lookup(kernel.getArgument(i)), group);
    zero::UpdateOp update = group.update();
    if (update)
      for (auto [i, name] : llvm::enumerate(update.getStates()))
        if (nn::PanelsAttr layout = stateOf(name).getLayoutAttr())
          kernel.setResultAttr(i, nn::layoutAttrName, layout);
    FailureOr<kernels::KernelSpace> space = kernels::kernelSpace(kernel);
    if (failed(space))
      return failure();
    space->describe(kernel);
    kernel.setCostAttr(nn::costOf(kernel));
    if (update)
      markTiles(kernel, update, inputs);
    else
      markOver(kernel);
    return unique(kernel);
  }

  zero::StateOp stateOf(Attribute name) {
    return symbols.lookup<zero::StateOp>(cast<FlatSymbolRefAttr>(name).getAttr());
  }

  /// Which argument's bytes the result may take.
  static void markOver(nn::KernelOp kernel) {
    if (kernel.getNumResults() != 1)
      return;
    for (BlockArgument argument : kernel.getArguments())
      if (argument.getType() == kernel.getResultTypes().front() && !kernel.getArgAttr(argument.getArgNumber(), nn::layoutAttrName) &&
          isReadInPlace(argument, kernel)) {
        auto type = IntegerType::get(kernel.getContext(), 64);
        kernel.setResultAttr(0, nn::overAttrName, IntegerAttr::get(type, argument.getArgNumber()));
        return;
      }
  }

  /// Whether each element of the result needs of `argument` the same element alone, before it is stored.
  static bool isReadInPlace(BlockArgument argument, nn::KernelOp kernel) {
    if (kernel.getSchedule() == nn::Schedule::scatter)
      return llvm::all_of(argument.getUses(), [](OpOperand &use) {
        auto scatter = dyn_cast<nn::ScatterOp>(use.getOwner());
        return scatter && &use == &scatter.getDataMutable();
      });
    if (kernel.getSchedule() != nn::Schedule::map)
      return false;
    SmallVector<Value> values{argument};
    llvm::SmallDenseSet<Operation *> seen;
    while (!values.empty())
      for (OpOperand &use : values.pop_back_val().getUses()) {
        if (isa<nn::YieldOp>(use.getOwner()))
          continue;
        if (!nn::takesSameElement(use))
          return false;
        if (seen.insert(use.getOwner()).second)
          values.push_back(use.getOwner()->getResult(0));
      }
    return true;
  }

  /// Whether tiles of the states can stand for old and new values: where a unit of the kernel computes
  /// what a panel of each holds.
  void markTiles(nn::KernelOp kernel, zero::UpdateOp update, ArrayRef<Value> inputs) {
    bool unitsArePanels = llvm::all_of(update.getStates(), [&](Attribute name) {
      zero::StateOp state = stateOf(name);
      return state.getLayout() && state.getUnitCount() == static_cast<int64_t>(kernel.getUnits());
    });
    if (!unitsArePanels)
      return;
    auto tiled = UnitAttr::get(module.getContext());
    for (unsigned i = 0; i < kernel.getNumResults(); ++i)
      kernel.setResultAttr(i, nn::tiledAttrName, tiled);
    for (auto [i, input] : llvm::enumerate(inputs))
      if (auto use = input.getDefiningOp<zero::UseOp>();
          use && llvm::is_contained(update.getStates(), use.getStateAttr()))
        kernel.setArgAttr(i, nn::tiledAttrName, tiled);
  }

  /// Layout of an argument that is a whole state, and whether its tiles can stand
  /// for it. `run`: the columns of a product in it.
  void markWeight(nn::KernelOp kernel, int64_t index, Value input, std::optional<kernels::ColumnRun> run,
                  const Group &group) {
    auto use = input.getDefiningOp<zero::UseOp>();
    if (!use)
      return;
    auto state = symbols.lookup<zero::StateOp>(use.getState());
    auto type = cast<RankedTensorType>(input.getType());
    bool isTiled = false;
    if (nn::PanelsAttr layout = state.getLayoutAttr()) {
      kernel.setArgAttr(index, nn::layoutAttrName, layout);
      BlockArgument argument = kernel.getArgument(index);
      isTiled = (run && kernels::areUnits(layout, *run, type)) || isTiledFilter(argument);
      auto matmul = argument.hasOneUse() ? dyn_cast<nn::MatmulOp>(*argument.user_begin()) : nn::MatmulOp();
      if (matmul && matmul.getRhs() == argument && !group.update() && kernels::takesDepthTiles(kernel, matmul))
        kernel.setArgAttr(index, nn::depthTiledAttrName, UnitAttr::get(module.getContext()));
    } else if (run && state.getRows()) {
      std::optional<kernels::ColumnUnits> units = kernels::columnUnits(*run, type);
      isTiled = units && units->rows == static_cast<int64_t>(*state.getRows());
      if (isTiled)
        kernel.setArgAttr(index, nn::rowsAttrName, state.getRowsAttr());
    }
    if (isTiled)
      kernel.setArgAttr(index, nn::tiledAttrName, UnitAttr::get(module.getContext()));
  }

  static bool isTiledFilter(BlockArgument argument) {
    auto conv = argument.hasOneUse() ? dyn_cast<nn::ConvOp>(*argument.user_begin()) : nn::ConvOp();
    return conv && conv.getFilter() == argument && kernels::tilesFilter(conv);
  }

  /// The kernel of the module that equals `kernel`, which is then dropped.
  nn::KernelOp unique(nn::KernelOp kernel) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    kernel->print(stream, OpPrintingFlags().useLocalScope().printGenericOpForm());
    nn::KernelOp &known = kernels[text];
    if (known) {
      kernel->erase();
      return known;
    }
    known = kernel;
    symbols.insert(kernel);
    ++numKernels;
    return kernel;
  }

  ModuleOp module;
  SymbolTable symbols;
  llvm::StringMap<nn::KernelOp> kernels;
};

/// Copies weights, constants and sequences of numbers that a function returns, perhaps in
/// another shape, so that every output is an argument or the result of a call.
void copyReturned(Block &block) {
  OpBuilder builder(block.getTerminator());
  llvm::DenseMap<Value, Value> copies;
  for (OpOperand &operand : block.getTerminator()->getOpOperands()) {
    Value source = operand.get();
    while (auto reshape = source.getDefiningOp<nn::ReshapeOp>())
      source = reshape.getOperand();
    if (!isa_and_present<zero::UseOp, arith::ConstantOp, nn::IotaOp, nn::RandomOp>(source.getDefiningOp()))
      continue;
    auto type = cast<RankedTensorType>(source.getType());
    Value &copy = copies[source];
    if (!copy)
      copy = nn::BroadcastOp::create(builder, source.getLoc(), type, source,
                                     llvm::to_vector(llvm::seq<int64_t>(type.getRank())));
    operand.set(operand.get().getType() == type
                    ? copy
                    : nn::ReshapeOp::create(builder, source.getLoc(), operand.get().getType(), copy)
                          .getResult());
  }
}

/// Closes the phase: what the next one relies on.
LogicalResult verifyKernelForm(func::FuncOp function) {
  bool valid = true;
  for (Operation &op : function.getBody().front().without_terminator())
    if (!isa<nn::CallOp, nn::ReshapeOp, nn::SliceOp, zero::UseOp, zero::LookupOp, zero::UpdateOp,
             arith::ConstantOp>(op)) {
      emitError(op.getLoc()) << "'" << op.getName() << "' is left outside of every kernel";
      valid = false;
    }
  return success(succeeded(zero::verifyUpdates(cast<FunctionOpInterface>(function.getOperation()))) && valid);
}

void eraseUnused(Block &block) {
  SmallVector<Operation *> operations;
  for (Operation &op : block.without_terminator())
    operations.push_back(&op);
  for (Operation *op : llvm::reverse(operations))
    if (op->use_empty() && !isa<zero::UpdateOp>(op))
      op->erase();
}

struct FormKernels : public spillway::impl::NNFormKernelsPassBase<FormKernels> {
  using NNFormKernelsPassBase::NNFormKernelsPassBase;

  void runOnOperation() override {
    Outliner outliner(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      Block &body = function.getBody().front();
      eraseUnused(body);
      copyReturned(body);
      SymbolTable symbols(getOperation());
      Grouping grouping(body, symbols, maxOperations);
      for (const std::unique_ptr<Group> &group : llvm::reverse(grouping.getGroups()))
        if (failed(outliner.outline(*group, grouping.getRepeated())))
          return signalPassFailure();
      eraseUnused(body);
      if (failed(verifyKernelForm(function)))
        return signalPassFailure();
    }
    numCalls += outliner.numCalls;
    numKernels += outliner.numKernels;
  }
};

} // namespace
