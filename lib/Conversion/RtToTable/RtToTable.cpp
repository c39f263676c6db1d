#include "spillway/Conversion/RtToTable/RtToTable.h"

#include "dialects/Rt/Rt.h"
#include "runtime/base/DataType.h"
#include "runtime/table/table_generated.h"
#include "spillway/Plan/StepExtraction.h"
#include "spillway/Support/ElementType.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace spillway;
using flatbuffers::Offset;

namespace {

class TableWriter {
public:
  explicit TableWriter(ModuleOp module) : module_(module) {
    for (auto [i, state] : llvm::enumerate(module.getOps<zero::StateOp>()))
      states_[state.getSymName()] = static_cast<uint32_t>(i);
  }

  FailureOr<std::vector<uint8_t>> write(rt::ProgramOp program) {
    FailureOr<Commands> prologue = writeList(program.getPrologue().getBody().front());
    FailureOr<Commands> step = writeList(program.getStep().getBody().front());
    rt::CheckpointOp checkpointList = program.getCheckpoint();
    FailureOr<Commands> checkpoint = checkpointList ? writeList(checkpointList.getBody().front())
                                                    : builder_.CreateVector<Offset<table::Command>>({});
    if (failed(prologue) || failed(step) || failed(checkpoint))
      return failure();
    std::vector<Offset<table::Arena>> arenas;
    for (auto arena : program.getBody().front().getOps<rt::ArenaOp>())
      arenas.push_back(table::CreateArena(builder_, tier(arena.getTier()), arena.getBytes()));
    auto inputs = writeBindings<rt::InputOp>(program);
    auto outputs = writeBindings<rt::OutputOp>(program);
    builder_.Finish(table::CreateProgram(
                        builder_, writtenTableVersion, static_cast<uint32_t>(program.getRanks()),
                        static_cast<uint32_t>(program.getThreads()), builder_.CreateVector(arenas),
                        builder_.CreateVector(kernelEntries_), inputs, outputs, *prologue, *step,
                        *checkpoint),
                    table::ProgramIdentifier());
    const uint8_t *bytes = builder_.GetBufferPointer();
    return std::vector<uint8_t>(bytes, bytes + builder_.GetSize());
  }

private:
  using Commands = Offset<flatbuffers::Vector<Offset<table::Command>>>;

  struct Operation {
    table::Operation type;
    Offset<void> offset;
  };

  static table::Tier tier(zero::Tier tier) { return static_cast<table::Tier>(tier); }

  static table::Slice slice(Value buffer) {
    auto op = cast<rt::BufferOp>(buffer.getDefiningOp());
    return {tier(op.getTier()), op.getOffset(), op.getBytes(), op.getRankStride()};
  }

  static uint8_t dataType(StringRef name) {
    return static_cast<uint8_t>(*dataTypeFromName(name.str()));
  }

  template <typename Op>
  Offset<flatbuffers::Vector<Offset<table::Binding>>> writeBindings(rt::ProgramOp program) {
    std::vector<Offset<table::Binding>> bindings;
    for (auto op : program.getBody().front().getOps<Op>()) {
      auto name = builder_.CreateString(op.getName().str());
      auto shape = builder_.CreateVector(op.getShape().data(), op.getShape().size());
      table::Slice place = slice(op.getBuffer());
      auto said = op->template getAttrOfType<DenseI64ArrayAttr>("spillway.classes");
      table::Classes classes = said ? table::Classes(said[0], said[1], said[2]) : table::Classes();
      bindings.push_back(table::CreateBinding(builder_, name, dataType(op.getType()), shape, &place,
                                              said ? &classes : nullptr));
    }
    return builder_.CreateVector(bindings);
  }

  FailureOr<Commands> writeList(Block &list) {
    std::vector<Offset<table::Command>> commands;
    DenseMap<Value, uint32_t> index;
    for (auto [i, command] : llvm::enumerate(list.getOps<rt::CommandOpInterface>()))
      index[command->getResult(0)] = static_cast<uint32_t>(i);
    auto step = dyn_cast<rt::StepOp>(list.getParentOp());
    rt::CarryOp carry = step ? step.getCarry() : rt::CarryOp();
    DenseSet<Value> carried;
    if (carry)
      carried.insert_range(carry.getEvents());
    for (auto command : list.getOps<rt::CommandOpInterface>()) {
      FailureOr<Operation> operation = writeOperation(command);
      if (failed(operation))
        return failure();
      std::vector<uint32_t> waits, carriedWaits;
      for (Value event : command.getAfter())
        if (auto argument = dyn_cast<BlockArgument>(event))
          carriedWaits.push_back(index.lookup(carry.getEvents()[argument.getArgNumber()]));
        else
          waits.push_back(index.lookup(event));
      StringAttr label = command.getLabelAttr();
      auto labelOffset = label ? builder_.CreateSharedString(label.str()) : 0;
      auto waitsOffset = waits.empty() ? 0 : builder_.CreateVector(waits);
      auto carriedWaitsOffset = carriedWaits.empty() ? 0 : builder_.CreateVector(carriedWaits);
      commands.push_back(
          table::CreateCommand(builder_, operation->type, operation->offset,
                               static_cast<table::Stream>(command.getCommandStream()), waitsOffset,
                               labelOffset, carried.contains(command->getResult(0)), carriedWaitsOffset));
    }
    return builder_.CreateVector(commands);
  }

  FailureOr<Operation> writeOperation(rt::CommandOpInterface command) {
    return TypeSwitch<mlir::Operation *, FailureOr<Operation>>(command.getOperation())
        .Case<rt::ReadOp, rt::WriteOp, rt::CopyOp, rt::LaunchOp, rt::LookupOp, rt::AllGatherOp>(
            [&](auto op) -> FailureOr<Operation> { return writeCommand(op); })
        .Default([](mlir::Operation *op) {
          return op->emitOpError("has no form in the step table");
        });
  }

  Operation writeCommand(rt::ReadOp read) {
    table::Slice target = slice(read.getTarget());
    return {table::Operation::Read,
            table::CreateRead(builder_, states_.lookup(read.getState()), read.getOffset(),
                              target.bytes(), &target, read.getRankStride())
                .Union()};
  }

  Operation writeCommand(rt::WriteOp write) {
    table::Slice source = slice(write.getSource());
    return {table::Operation::Write,
            table::CreateWrite(builder_, states_.lookup(write.getState()), write.getOffset(),
                               source.bytes(), &source, write.getRankStride())
                .Union()};
  }

  Operation writeCommand(rt::CopyOp copy) {
    table::Slice source = slice(copy.getSource()), target = slice(copy.getTarget());
    return {table::Operation::Copy, table::CreateCopy(builder_, &source, &target).Union()};
  }

  Operation writeCommand(rt::LaunchOp launch) {
    uint32_t kernel = kernelIndex(launch);
    std::vector<table::Argument> arguments;
    ArrayRef<int64_t> origins = launch.getOrigins(), held = launch.getHeld();
    for (Value operand : llvm::concat<const Value>(llvm::to_vector(launch.getInputs()), llvm::to_vector(launch.getResults())))
      arguments.emplace_back(slice(operand), origins.empty() ? 0 : origins[arguments.size()],
                             held.empty() ? 0 : held[arguments.size()]);
    auto argumentsOffset = builder_.CreateVectorOfStructs(arguments);
    table::Slice scratch = launch.getScratch() ? slice(launch.getScratch()) : table::Slice();
    return {table::Operation::Launch,
            table::CreateLaunch(builder_, kernel, argumentsOffset, launch.getUnits()[0],
                                launch.getUnits()[1], launch.getScratch() ? &scratch : nullptr,
                                launch.getScratchPerThread())
                .Union()};
  }

  Operation writeCommand(rt::LookupOp lookup) {
    table::Slice indices = slice(lookup.getIndices()), target = slice(lookup.getTarget());
    table::Slice rows = slice(lookup.getResident() ? lookup.getResident() : lookup.getStaging());
    return {table::Operation::Lookup,
            table::CreateLookup(builder_, states_.lookup(lookup.getState()), &indices,
                                dataType(lookup.getIndexType()), &target,
                                lookup.getResident() ? &rows : nullptr,
                                lookup.getResident() ? nullptr : &rows)
                .Union()};
  }

  Operation writeCommand(rt::AllGatherOp gather) {
    table::Slice source = slice(gather.getSource()), target = slice(gather.getTarget());
    return {table::Operation::AllGather,
            table::CreateAllGather(builder_, &source, &target).Union()};
  }

  /// An input or result of a kernel.
  static table::KernelArgument argument(Type type, Attribute layout, Attribute rows, bool isTiled,
                                        bool isDepthTiled) {
    auto tensor = cast<RankedTensorType>(type);
    auto bytes = static_cast<uint64_t>(nn::tensorBytes(tensor));
    uint64_t element = nn::elementBytes(tensor.getElementType()), unitBytes = 0;
    if (auto panels = dyn_cast_if_present<nn::PanelsAttr>(layout)) {
      unitBytes = panels.getWidth() * nn::panelDepth(tensor, panels.getDim()) * element;
      bytes = llvm::divideCeil(tensor.getDimSize(panels.getDim()), panels.getWidth()) * unitBytes;
    } else if (auto run = dyn_cast_if_present<IntegerAttr>(rows)) {
      unitBytes = run.getInt() * nn::panelDepth(tensor, 0) * element;
    }
    return {bytes, isTiled || isDepthTiled ? unitBytes : 0, isTiled};
  }

  static std::vector<table::KernelArgument> argumentsOf(nn::KernelOp kernel) {
    std::vector<table::KernelArgument> arguments;
    for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes()))
      arguments.push_back(argument(type, kernel.getArgAttr(i, nn::layoutAttrName),
                                   kernel.getArgAttr(i, nn::rowsAttrName),
                                   kernel.getArgAttr(i, nn::tiledAttrName) != nullptr,
                                   kernel.getArgAttr(i, nn::depthTiledAttrName) != nullptr));
    for (auto [i, type] : llvm::enumerate(kernel.getResultTypes()))
      arguments.push_back(argument(type, kernel.getResultAttr(i, nn::layoutAttrName), Attribute(),
                                   kernel.getResultAttr(i, nn::tiledAttrName) != nullptr, false));
    return arguments;
  }

  uint32_t kernelIndex(rt::LaunchOp launch) {
    auto [it, isNew] = kernels_.try_emplace(launch.getKernel(), kernelEntries_.size());
    if (!isNew)
      return it->second;
    auto kernel = symbols_.lookupNearestSymbolFrom<nn::KernelOp>(module_, launch.getKernelAttr());
    nn::CostAttr cost = nn::costOf(kernel);
    std::vector<uint8_t> types;
    for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(), kernel.getResultTypes()))
      types.push_back(static_cast<uint8_t>(*dataTypeOf(getElementTypeOrSelf(type))));
    auto symbol = builder_.CreateString(launch.getKernel().str());
    auto arguments = builder_.CreateVectorOfStructs(argumentsOf(kernel));
    auto typesOffset = builder_.CreateVector(types);
    kernelEntries_.push_back(table::CreateKernel(
        builder_, symbol, kernel.getNumArguments(), arguments, kernel.getUnits(), cost.getFlops(),
        static_cast<uint8_t>(plan::arithmeticTypeOf(kernel)), cost.getBytes(), cost.getShared(), typesOffset, kernel.getParts().value_or(1)));
    return it->second;
  }

  ModuleOp module_;
  SymbolTableCollection symbols_;
  flatbuffers::FlatBufferBuilder builder_;
  llvm::StringMap<uint32_t> states_, kernels_;
  std::vector<Offset<table::Kernel>> kernelEntries_;
};

} // namespace

FailureOr<std::vector<uint8_t>> spillway::translateToTable(ModuleOp module) {
  auto programs = module.getOps<rt::ProgramOp>();
  if (!llvm::hasSingleElement(programs))
    return module.emitError("a table is made of a module with one rt.program");
  return TableWriter(module).write(*programs.begin());
}
