#include "tools/spillway/PlannedBundle.h"

namespace spillway {

Result<PlannedBundle> PlannedBundle::open(const std::filesystem::path &folder, LinkedFiles linkedFiles) {
  PlannedBundle result;
  SPILLWAY_ASSIGN_OR_RETURN(result.bundle, Bundle::open(folder));
  SPILLWAY_ASSIGN_OR_RETURN(result.store,
                            Store::parse(result.bundle.storeIndex(), result.bundle.folder(), linkedFiles));
  SPILLWAY_ASSIGN_OR_RETURN(result.program, Program::parse(result.bundle.table(), result.store));
  if (!result.bundle.has(planName))
    return result;
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, result.bundle.read(planName));
  result.planText.assign(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  result.plan = nlohmann::ordered_json::parse(result.planText, nullptr, false);
  if (!result.plan.is_object())
    return machineError("'{}' is damaged: its {} is no JSON object", folder.string(), planName);
  return result;
}

Result<plan::Simulation> PlannedBundle::simulate() const {
  plan::Machine machine;
  if (auto described = plan.find("machine"); described != plan.end()) {
    SPILLWAY_ASSIGN_OR_RETURN(machine, plan::Machine::parse(described->dump()));
  }
  std::vector<uint64_t> pieceBytes;
  for (const StateView &state : store.states())
    pieceBytes.push_back(state.chunkBytes);
  for (const std::vector<Command> *list : {&program.prologue, &program.step})
    for (const Command &command : *list)
      if (auto *lookup = std::get_if<LookupOperation>(&command.operation);
          lookup && !lookup->fromArena)
        pieceBytes[lookup->state] = lookup->stagingPieceBytes;
  return plan::simulate(table(), machine, pieceBytes);
}

} // namespace spillway
