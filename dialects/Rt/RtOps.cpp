#include "dialects/Rt/Hazards.h"
#include "dialects/Rt/Rt.h"
#include "runtime/base/DataType.h"
#include "runtime/state/State.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/DenseMap.h"

#include <limits>

using namespace mlir;
using namespace spillway::rt;
namespace nn = spillway::nn;
namespace zero = spillway::zero;

namespace {

ParseResult parseTierName(OpAsmParser &parser, zero::TierAttr &tier) {
  StringRef name;
  SMLoc where = parser.getCurrentLocation();
  if (parser.parseKeyword(&name))
    return failure();
  auto value = zero::symbolizeTier(name);
  if (!value)
    return parser.emitError(where, "unknown tier ") << name;
  tier = zero::TierAttr::get(parser.getContext(), *value);
  return success();
}

void printTierName(OpAsmPrinter &printer, Operation *, zero::TierAttr tier) {
  printer << zero::stringifyTier(tier.getValue());
}

/// Null where `value` is no buffer of a program, which its verifier refuses.
BufferOp bufferOf(Value value) { return value.getDefiningOp<BufferOp>(); }

} // namespace

#define GET_OP_CLASSES
#include "dialects/Rt/RtOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

LogicalResult BufferOp::verify() {
  if (static_cast<int64_t>(getOffset()) < 0 || static_cast<int64_t>(getBytes()) < 0 ||
      static_cast<int64_t>(getRankStride()) < 0)
    return emitOpError("C1: offset, bytes and rank_stride must not be negative");
  return success();
}

namespace {

template <typename Op> LogicalResult verifyBinding(Op op) {
  auto type = spillway::dataTypeFromName(op.getType().str());
  if (!type)
    return op.emitOpError("C1: no data type ") << op.getType();
  int64_t bytes = static_cast<int64_t>(spillway::byteWidth(*type));
  for (int64_t size : op.getShape())
    bytes *= size;
  if (BufferOp buffer = bufferOf(op.getBuffer());
      buffer && static_cast<int64_t>(buffer.getBytes()) != bytes)
    return op.emitOpError("C1: the tensor has ") << bytes << " bytes, its buffer " << buffer.getBytes();
  return success();
}

/// C1 and C2 of the lists of commands.
LogicalResult verifyList(Operation *list) {
  Block &body = list->getRegion(0).front();
  bool isStep = isa<StepOp>(list);
  for (Operation &op : body) {
    if (isStep && isa<CarryOp>(op) && &op == &body.back())
      continue;
    auto command = dyn_cast<CommandOpInterface>(op);
    if (!command)
      return op.emitOpError("C1: is no command, but stands among them");
    for (Value event : command.getAfter())
      if ((!event.getDefiningOp() && (!isStep || command.getCommandStream() == Stream::write)) ||
          event.getParentBlock() != &body)
        return op.emitOpError("C2: waits for what is no command of the same list");
  }
  return success();
}

/// C3 of the step.
LogicalResult verifyCarry(StepOp step) {
  CarryOp carry = step.getCarry();
  size_t arguments = step.getBody().getNumArguments(), carried = carry ? carry.getEvents().size() : 0;
  if (arguments != carried)
    return step.emitOpError("C3: has ") << arguments << " arguments and carries " << carried << " events";
  if (carry)
    for (Value event : carry.getEvents())
      if (!event.getDefiningOp<WriteOp>() || llvm::count(carry.getEvents(), event) != 1)
        return carry.emitOpError("C3: carries what is no write, or twice");
  return success();
}

} // namespace

LogicalResult InputOp::verify() { return verifyBinding(*this); }
LogicalResult OutputOp::verify() { return verifyBinding(*this); }
LogicalResult PrologueOp::verifyRegions() { return verifyList(*this); }
LogicalResult StepOp::verifyRegions() { return success(succeeded(verifyList(*this)) && succeeded(verifyCarry(*this))); }
CarryOp StepOp::getCarry() {
  Block &body = getBody().front();
  return body.empty() ? CarryOp() : dyn_cast<CarryOp>(body.back());
}
LogicalResult CheckpointOp::verifyRegions() { return verifyList(*this); }

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

PrologueOp ProgramOp::getPrologue() { return *getBody().front().getOps<PrologueOp>().begin(); }
StepOp ProgramOp::getStep() { return *getBody().front().getOps<StepOp>().begin(); }
CheckpointOp ProgramOp::getCheckpoint() {
  auto checkpoints = getBody().front().getOps<CheckpointOp>();
  return checkpoints.empty() ? CheckpointOp() : *checkpoints.begin();
}

namespace {

/// Of rank `rank`.
AccessedBytes accessTo(Value value, bool write, uint64_t rank) {
  BufferOp buffer = bufferOf(value);
  return {static_cast<unsigned>(buffer.getTier()),
          buffer.getOffset() + rank * buffer.getRankStride(), buffer.getBytes(), write};
}

/// What a command reads or writes of a state's file.
std::optional<FileBytes> fileBytesOf(Operation *command, DenseMap<StringAttr, uint32_t> &states, uint64_t rank) {
  auto numberOf = [&](FlatSymbolRefAttr state) {
    return states.try_emplace(state.getAttr(), static_cast<uint32_t>(states.size())).first->second;
  };
  if (auto read = dyn_cast<ReadOp>(command))
    return FileBytes{numberOf(read.getStateAttr()), read.getOffset() + rank * read.getRankStride(),
                     bufferOf(read.getTarget()).getBytes()};
  if (auto write = dyn_cast<WriteOp>(command))
    return FileBytes{numberOf(write.getStateAttr()), write.getOffset() + rank * write.getRankStride(),
                     bufferOf(write.getSource()).getBytes()};
  if (auto lookup = dyn_cast<LookupOp>(command); lookup && lookup.getStaging())
    return FileBytes{numberOf(lookup.getStateAttr()), 0, std::numeric_limits<uint64_t>::max()};
  return std::nullopt;
}

std::vector<CommandAccesses> collectAccesses(Block &list, uint64_t rank) {
  std::vector<CommandAccesses> commands;
  DenseMap<Value, uint32_t> index;
  DenseMap<StringAttr, uint32_t> states;
  for (auto command : list.getOps<CommandOpInterface>()) {
    CommandAccesses accesses;
    accesses.stream = static_cast<unsigned>(command.getCommandStream());
    accesses.file = fileBytesOf(command, states, rank);
    for (Value event : command.getAfter())
      if (auto carried = dyn_cast<BlockArgument>(event))
        accesses.carriedWaits.push_back(carried.getArgNumber());
      else
        accesses.waits.push_back(index.lookup(event));
    if (auto gather = dyn_cast<AllGatherOp>(command.getOperation()))
      accesses.accesses = accessesOfGather(accessTo(gather.getSource(), false, rank),
                                           accessTo(gather.getTarget(), true, rank));
    else
      command.visitAccesses([&](Value buffer, bool write) {
        accesses.accesses.push_back(accessTo(buffer, write, rank));
      });
    index[command->getResult(0)] = static_cast<uint32_t>(commands.size());
    commands.push_back(std::move(accesses));
  }
  auto step = dyn_cast<StepOp>(list.getParentOp());
  if (CarryOp carry = step ? step.getCarry() : CarryOp()) {
    for (Value event : carry.getEvents())
      commands[index.lookup(event)].isCarried = true;
    for (CommandAccesses &command : commands)
      for (uint32_t &wait : command.carriedWaits)
        wait = index.lookup(carry.getEvents()[wait]);
  }
  return commands;
}

std::optional<Hazard> findHazardOn(ProgramOp program, uint64_t rank) {
  std::vector<AccessedBytes> inputs, outputs;
  for (auto input : program.getBody().front().getOps<InputOp>())
    inputs.push_back(accessTo(input.getBuffer(), true, rank));
  for (auto output : program.getBody().front().getOps<OutputOp>())
    outputs.push_back(accessTo(output.getBuffer(), false, rank));
  std::vector<CommandAccesses> checkpoint;
  if (CheckpointOp list = program.getCheckpoint())
    checkpoint = collectAccesses(list.getBody().front(), rank);
  return findHazard(collectAccesses(program.getPrologue().getBody().front(), rank),
                    collectAccesses(program.getStep().getBody().front(), rank), checkpoint, inputs, outputs);
}

/// C7.
LogicalResult verifyPlaces(ProgramOp program) {
  auto result = program.getBody().walk([](Operation *op) {
    for (Value operand : op->getOperands())
      if (isa<BufferType>(operand.getType()) && !bufferOf(operand)) {
        op->emitOpError("C7: takes a buffer that is no rt.buffer");
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return success(!result.wasInterrupted());
}

/// On every rank.
bool liesInside(BufferOp buffer, int64_t arenaBytes, int64_t ranks) {
  int64_t offset = buffer.getOffset(), bytes = buffer.getBytes(), stride = buffer.getRankStride();
  if (bytes > arenaBytes || offset > arenaBytes - bytes)
    return false;
  return stride == 0 || (arenaBytes - bytes - offset) / stride >= ranks - 1;
}

LogicalResult reportHazard(ProgramOp program, const Hazard &hazard) {
  Region &region = hazard.list == Hazard::List::prologue ? program.getPrologue().getBody()
                   : hazard.list == Hazard::List::step   ? program.getStep().getBody()
                                                         : program.getCheckpoint().getBody();
  Block &list = region.front();
  auto commandAt = [&](uint32_t index) { return &*std::next(list.begin(), index); };
  auto describe = [&](InFlightDiagnostic &diagnostic) {
    if (hazard.file) {
      auto write = cast<WriteOp>(commandAt(hazard.other));
      diagnostic << " bytes [" << hazard.file->offset << ", " << hazard.file->offset + hazard.file->bytes << ") of '"
                 << write.getState() << "'";
      return;
    }
    diagnostic << " bytes [" << hazard.bytes.offset << ", "
               << hazard.bytes.offset + hazard.bytes.bytes << ") of "
               << zero::stringifyTier(static_cast<zero::Tier>(hazard.bytes.tier));
  };
  if (hazard.kind == Hazard::Kind::unordered) {
    auto diagnostic = commandAt(hazard.command)->emitOpError("C5:");
    describe(diagnostic);
    diagnostic << " are touched with no order to another command" << (hazard.otherIsCarried ? " of the step before" : "");
    diagnostic.attachNote(commandAt(hazard.other)->getLoc()) << "the other command";
    return failure();
  }
  auto commands = list.getOps<CommandOpInterface>();
  bool atOutput = hazard.list == Hazard::List::step && hazard.command == std::distance(commands.begin(), commands.end());
  Operation *where = atOutput ? program.getOperation() : commandAt(hazard.command);
  auto diagnostic = where->emitOpError("C6:");
  describe(diagnostic);
  diagnostic << (hazard.kind == Hazard::Kind::stale ? " hold what an earlier step left"
                                                    : " are read before they were written");
  return failure();
}

} // namespace

LogicalResult ProgramOp::verifyRegions() {
  Block &body = getBody().front();
  DenseMap<zero::Tier, int64_t> arenas;
  int64_t prologues = 0, steps = 0, checkpoints = 0;
  for (Operation &op : body) {
    if (!isa<ArenaOp, BufferOp, InputOp, OutputOp, PrologueOp, StepOp, CheckpointOp>(op))
      return op.emitOpError("C1: does not belong in a program");
    prologues += isa<PrologueOp>(op);
    steps += isa<StepOp>(op);
    checkpoints += isa<CheckpointOp>(op);
    if (auto arena = dyn_cast<ArenaOp>(op))
      if (!arenas.try_emplace(arena.getTier(), arena.getBytes()).second)
        return arena.emitOpError("C3: a second arena of a tier");
  }
  if (prologues != 1 || steps != 1 || checkpoints > 1)
    return emitOpError("C1: needs one prologue, one step and at most one checkpoint");
  if (static_cast<int64_t>(getRanks()) < 1 || static_cast<int64_t>(getThreads()) < 1)
    return emitOpError("C2: ranks and threads must be at least 1");
  if (failed(verifyPlaces(*this)))
    return failure();
  bool ranksDiffer = false;
  for (auto buffer : body.getOps<BufferOp>()) {
    auto arena = arenas.find(buffer.getTier());
    if (arena == arenas.end() || !liesInside(buffer, arena->second, getRanks()))
      return buffer.emitOpError("C4: ends outside the arena");
    ranksDiffer |= buffer.getRankStride() != 0;
  }
  for (uint64_t rank = 0; rank < (ranksDiffer ? getRanks() : 1); ++rank)
    if (auto hazard = findHazardOn(*this, rank))
      return reportHazard(*this, *hazard);
  return success();
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

namespace {

template <typename Op>
LogicalResult requireState(Op op, SymbolTableCollection &symbols, StringRef constraint) {
  if (symbols.lookupNearestSymbolFrom<zero::StateOp>(op, op.getStateAttr()))
    return success();
  return op.emitOpError() << constraint << ": no state " << op.getStateAttr();
}

} // namespace

Stream ReadOp::getCommandStream() { return Stream::read; }
void ReadOp::visitAccesses(function_ref<void(Value, bool)> visit) { visit(getTarget(), true); }
LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return requireState(*this, symbols, "C1");
}

Stream WriteOp::getCommandStream() { return Stream::write; }
void WriteOp::visitAccesses(function_ref<void(Value, bool)> visit) { visit(getSource(), false); }
LogicalResult WriteOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return requireState(*this, symbols, "C1");
}

Stream CopyOp::getCommandStream() { return getStream(); }
void CopyOp::visitAccesses(function_ref<void(Value, bool)> visit) {
  visit(getSource(), false);
  visit(getTarget(), true);
}
LogicalResult CopyOp::verify() {
  BufferOp source = bufferOf(getSource()), target = bufferOf(getTarget());
  if (!source || !target)
    return success();
  if (source.getBytes() != target.getBytes())
    return emitOpError("C1: the buffers differ in bytes");
  bool isToDrive = target.getTier() == zero::Tier::nvme, isFromDrive = source.getTier() == zero::Tier::nvme;
  bool isOnFileStream = getStream() == Stream::read || getStream() == Stream::write;
  if ((isToDrive && isFromDrive) || isToDrive != (getStream() == Stream::write) ||
      isFromDrive != (getStream() == Stream::read) || getStream() == Stream::communicate)
    return emitOpError("C2: no such copies on the stream ") << stringifyStream(getStream());
  if (isOnFileStream && (source.getOffset() % spillway::blockBytes != 0 || target.getOffset() % spillway::blockBytes != 0))
    return emitOpError("C3: the buffers must start at multiples of ") << spillway::blockBytes;
  return success();
}

Stream LaunchOp::getCommandStream() { return Stream::compute; }
void LaunchOp::visitAccesses(function_ref<void(Value, bool)> visit) {
  for (Value input : getInputs())
    visit(input, false);
  for (Value result : getResults())
    visit(result, true);
  if (Value scratch = getScratch())
    visit(scratch, true);
}
LogicalResult LaunchOp::verify() {
  ArrayRef<int64_t> units = getUnits();
  if (units.size() != 2 || units[0] < 0 || units[0] >= units[1])
    return emitOpError("C1: units must be [begin, end) with 0 <= begin < end");
  for (ArrayRef<int64_t> entries : {getOrigins(), getHeld()})
    if (!entries.empty() && entries.size() != getInputs().size() + getResults().size())
      return emitOpError("C2: origins and held must have one entry per input and result");
  if (static_cast<bool>(getScratch()) != (static_cast<int64_t>(getScratchPerThread()) > 0))
    return emitOpError("C3: a scratch comes with its bytes per thread");
  return success();
}
LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<nn::KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("C4: no kernel ") << getKernelAttr();
  if (getInputs().size() != kernel.getNumArguments() ||
      getResults().size() != kernel.getNumResults())
    return emitOpError("C4: ") << getKernelAttr() << " takes " << kernel.getNumArguments()
                               << " inputs and gives " << kernel.getNumResults() << " results";
  return success();
}

Stream LookupOp::getCommandStream() { return getResident() ? Stream::compute : Stream::read; }
void LookupOp::visitAccesses(function_ref<void(Value, bool)> visit) {
  visit(getIndices(), false);
  if (Value resident = getResident())
    visit(resident, false);
  if (Value staging = getStaging())
    visit(staging, true);
  visit(getTarget(), true);
}
LogicalResult LookupOp::verify() {
  if (static_cast<bool>(getResident()) == static_cast<bool>(getStaging()))
    return emitOpError("C1: needs either a resident state or a staging buffer");
  if (getIndexType() != "i32" && getIndexType() != "i64")
    return emitOpError("C2: indices are i32 or i64, not ") << getIndexType();
  return success();
}
LogicalResult LookupOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return requireState(*this, symbols, "C3");
}

Stream AllGatherOp::getCommandStream() { return Stream::communicate; }
void AllGatherOp::visitAccesses(function_ref<void(Value, bool)> visit) {
  visit(getSource(), false);
  visit(getTarget(), true);
}
LogicalResult AllGatherOp::verify() {
  auto program = (*this)->getParentOfType<ProgramOp>();
  BufferOp source = bufferOf(getSource()), target = bufferOf(getTarget());
  if (program && source && target && target.getBytes() != program.getRanks() * source.getBytes())
    return emitOpError("C1: the target must have the bytes of ") << program.getRanks() << " sources";
  return success();
}
