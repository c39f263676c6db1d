#include "CarriedWaits.h"

#include "spillway/Plan/CarriedBytes.h"

#include <limits>

using namespace mlir;
using namespace spillway;

static void addWait(rt::CommandOpInterface command, Value event) {
  if (!llvm::is_contained(command.getAfter(), event))
    command.getAfterMutable().append(event);
}

void CarriedWaits::notePiece(Operation *call, uint64_t begin, uint64_t end) {
  if (pieceOf_.try_emplace(call, pieces_.size()).second)
    pieces_.push_back({begin, end, {}, {}});
}

void CarriedWaits::apply(rt::StepOp step) const {
  Block &body = step.getBody().front();
  Arguments arguments;
  SmallVector<Value> events;
  for (auto write : body.getOps<rt::WriteOp>()) {
    events.push_back(write);
    arguments[write] = body.addArgument(write.getType(), write.getLoc());
  }
  if (events.empty())
    return;
  waitForMemory(arguments);
  waitForFiles(step, arguments);
  auto builder = OpBuilder::atBlockEnd(&body);
  rt::CarryOp::create(builder, step.getLoc(), events);
}

void CarriedWaits::waitForMemory(const Arguments &arguments) const {
  plan::CarriedBytes staged;
  for (auto [number, piece] : llvm::enumerate(pieces_))
    if (!piece.writes.empty())
      staged.add(piece.begin, piece.end, static_cast<uint32_t>(number));
  auto waitFor = [&](rt::CommandOpInterface command, ArrayRef<uint32_t> numbers) {
    for (uint32_t number : numbers)
      for (rt::WriteOp write : pieces_[number].writes)
        addWait(command, arguments.lookup(write));
  };
  plan::CarriedBytes room = staged;
  for (auto [command, moment, isRestored] : overRoom_) {
    uint64_t taken = room_.takenBytes(moment, moment);
    waitFor(command, isRestored ? room.find(0, taken) : room.take(0, taken));
  }
  for (const Piece &piece : pieces_) {
    std::vector<uint32_t> numbers = staged.take(piece.begin, piece.end);
    for (rt::CommandOpInterface fill : piece.fills)
      waitFor(fill, numbers);
  }
  plan::CarriedBytes below;
  for (auto [number, passing] : llvm::enumerate(outgoing_))
    below.add(passing.begin, passing.end, static_cast<uint32_t>(number));
  for (const Outgoing &passing : outgoing_)
    for (uint32_t number : below.take(passing.begin, passing.end))
      addWait(passing.down, arguments.lookup(outgoing_[number].write));
}

void CarriedWaits::waitForFiles(rt::StepOp step, const Arguments &arguments) {
  SmallVector<rt::WriteOp> writes(step.getBody().front().getOps<rt::WriteOp>());
  DenseMap<StringAttr, plan::CarriedBytes> files;
  auto bytesOf = [](Value buffer) { return cast<rt::BufferOp>(buffer.getDefiningOp()).getBytes(); };
  for (auto [number, write] : llvm::enumerate(writes))
    files[write.getStateAttr().getAttr()].add(write.getOffset(), write.getOffset() + bytesOf(write.getSource()),
                                              static_cast<uint32_t>(number));
  auto take = [&](rt::CommandOpInterface command, FlatSymbolRefAttr state, uint64_t begin, uint64_t end) {
    if (auto file = files.find(state.getAttr()); file != files.end())
      for (uint32_t number : file->second.take(begin, end))
        addWait(command, arguments.lookup(writes[number]));
  };
  for (auto command : step.getBody().front().getOps<rt::CommandOpInterface>())
    if (auto read = dyn_cast<rt::ReadOp>(*command))
      take(command, read.getStateAttr(), read.getOffset(), read.getOffset() + bytesOf(read.getTarget()));
    else if (auto lookup = dyn_cast<rt::LookupOp>(*command); lookup && lookup.getStaging())
      take(command, lookup.getStateAttr(), 0, std::numeric_limits<uint64_t>::max());
}
