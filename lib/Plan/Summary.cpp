#include "spillway/Plan/Summary.h"

#include "dialects/Rt/Rt.h"
#include "spillway/Plan/Activations.h"
#include "spillway/Plan/Residents.h"

#include <nlohmann/json.hpp>

using namespace mlir;
using namespace spillway;
using namespace spillway::plan;
using Json = nlohmann::ordered_json;

std::vector<uint64_t> spillway::plan::lookupPieces(ModuleOp module) {
  std::vector<uint64_t> pieces;
  for (zero::StateOp state : module.getOps<zero::StateOp>())
    pieces.push_back(std::min(lookupPieceBytes(state), stateExtent(state)));
  return pieces;
}

namespace {

Json describeArenas(ModuleOp module, rt::ProgramOp program) {
  Json arenas = Json::array();
  for (auto arena : program.getBody().front().getOps<rt::ArenaOp>())
    arenas.push_back({{"tier", zero::stringifyTier(arena.getTier()).str()},
                      {"bytes", arena.getBytes()},
                      {"resident_bytes", Residents(module, arena.getTier()).bytes()}});
  return arenas;
}

Json describeStates(ModuleOp module) {
  Json states = Json::array();
  for (zero::StateOp state : module.getOps<zero::StateOp>()) {
    std::array<int64_t, 3> tiles{};
    for (int64_t tile = 0; tile < state.getTileCount(); ++tile)
      ++tiles[static_cast<size_t>(state.getTileHome(tile))];
    Json entry = {{"name", state.getName().str()},
                  {"bytes", state.getStoredBytes()},
                  {"tiles", state.getTileCount()},
                  {"tile_bytes", state.getTileCount() ? tileExtent(state, 0).second : 0}};
    for (zero::Tier tier : {zero::Tier::device, zero::Tier::host, zero::Tier::nvme})
      entry["home"][zero::stringifyTier(tier).str()] = tiles[static_cast<size_t>(tier)];
    states.push_back(std::move(entry));
  }
  return states;
}

Json describeStep(const Simulation &simulation) {
  Json channels;
  for (unsigned stream = 0; stream < simulation.busySeconds.size(); ++stream)
    if (simulation.busySeconds[stream] > 0)
      channels[rt::stringifyStream(static_cast<rt::Stream>(stream)).str()] = {
          {"busy_seconds", simulation.busySeconds[stream]},
          {"bytes", simulation.movedBytes[stream]}};
  double gap = simulation.boundSeconds > 0
                   ? simulation.stepSeconds / simulation.boundSeconds - 1
                   : 0;
  return {{"predicted_seconds", simulation.stepSeconds},
          {"bound_seconds", simulation.boundSeconds},
          {"gap", gap},
          {"limited_by",
           rt::stringifyStream(static_cast<rt::Stream>(simulation.limitingStream)).str()},
          {"commands", simulation.step.size()},
          {"channels", channels}};
}

} // namespace

std::string spillway::plan::summarize(ModuleOp module, const Simulation &simulation) {
  rt::ProgramOp program = *module.getOps<rt::ProgramOp>().begin();
  Json plan = {{"version", 1},
               {"ranks", program.getRanks()},
               {"threads", program.getThreads()},
               {"arenas", describeArenas(module, program)}};
  if (auto decided = module->getAttrOfType<DictionaryAttr>(zero::planAttrName)) {
    plan["minimum_bytes"] = decided.getAs<IntegerAttr>("minimum").getInt();
    plan["floor_bytes"] = decided.getAs<IntegerAttr>("floor").getInt();
    plan["floor_operation"] = decided.getAs<StringAttr>("floor_at").str();
  }
  plan["step"] = describeStep(simulation);
  plan["prologue"] = {{"predicted_seconds", simulation.prologueSeconds},
                      {"commands", simulation.prologue.size()}};
  plan["states"] = describeStates(module);
  return plan.dump(2) + "\n";
}
