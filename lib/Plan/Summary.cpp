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
    pieces.push_back(lookupPieceBytes(state));
  return pieces;
}

namespace {

/// What zero-plan has decided; null where it did not run.
using Decided = DictionaryAttr;

uint64_t numberIn(Decided decided, StringRef name) {
  auto number = decided ? decided.getAs<IntegerAttr>(name) : IntegerAttr();
  return number ? number.getInt() : 0;
}

Json describeArenas(ModuleOp module, rt::ProgramOp program, Decided decided) {
  Json arenas = Json::array();
  // The first is the one that kernels compute on.
  std::optional<zero::Tier> computeTier;
  for (auto arena : program.getBody().front().getOps<rt::ArenaOp>()) {
    if (arena.getTier() == zero::Tier::nvme)
      continue;
    if (!computeTier)
      computeTier = arena.getTier();
    uint64_t resident = Residents(module, arena.getTier(), *computeTier).bytes();
    uint64_t staging = numberIn(decided, arenas.empty() ? "staging" : "host_staging");
    arenas.push_back({{"tier", zero::stringifyTier(arena.getTier()).str()},
                      {"bytes", arena.getBytes()},
                      {"resident_bytes", resident},
                      {"staging_bytes", staging},
                      {"activation_bytes", arena.getBytes() - resident - staging}});
  }
  return arenas;
}

/// Of the file in which values wait.
uint64_t scratchBytes(rt::ProgramOp program) {
  for (auto arena : program.getBody().front().getOps<rt::ArenaOp>())
    if (arena.getTier() == zero::Tier::nvme)
      return arena.getBytes();
  return 0;
}

Json describeStates(ModuleOp module, Decided decided) {
  auto reasons = decided ? decided.getAs<ArrayAttr>("reasons") : ArrayAttr();
  Json states = Json::array();
  for (auto [index, state] : llvm::enumerate(module.getOps<zero::StateOp>())) {
    std::array<int64_t, 3> tiles{};
    for (int64_t tile = 0; tile < state.getTileCount(); ++tile)
      ++tiles[static_cast<size_t>(state.getTileHome(tile))];
    Json entry = {{"name", state.getName().str()},
                  {"bytes", state.getStoredBytes()},
                  {"tiles", state.getTileCount()},
                  {"ranks", state.getPartition().value_or(1)},
                  {"tile_bytes", state.getTileCount() ? tileExtent(state, 0).second : 0}};
    for (zero::Tier tier : {zero::Tier::device, zero::Tier::host, zero::Tier::nvme})
      entry["home"][zero::stringifyTier(tier).str()] = tiles[static_cast<size_t>(tier)];
    if (reasons && index < reasons.size())
      entry["why"] = cast<StringAttr>(reasons[index]).str();
    states.push_back(std::move(entry));
  }
  return states;
}

/// The nodes that a kernel computes besides the one that it is called after.
void addParts(Location location, Json &parts) {
  auto fused = dyn_cast<FusedLoc>(location);
  StringRef label = nameOf(location);
  if (!fused || label.empty())
    return;
  for (Location part : fused.getLocations())
    if (StringRef name = nameOf(part); !name.empty() && name != label)
      parts[name.str()] = label.str();
}

Json describeParts(rt::ProgramOp program) {
  Json parts = Json::object();
  Location last = program.getLoc();
  program.walk([&](rt::LaunchOp launch) {
    // The launches of a call follow each other.
    if (std::exchange(last, launch.getLoc()) != launch.getLoc())
      addParts(launch.getLoc(), parts);
  });
  return parts;
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
          {"limited_by", simulation.limit},
          {"commands", simulation.step.size()},
          {"channels", channels}};
}

} // namespace

std::string spillway::plan::summarize(ModuleOp module, const Machine &machine,
                                      const Simulation &simulation, const std::string &request) {
  rt::ProgramOp program = *module.getOps<rt::ProgramOp>().begin();
  auto decided = module->getAttrOfType<DictionaryAttr>(zero::planAttrName);
  Json plan = {{"version", 1},
               {"ranks", program.getRanks()},
               {"threads", program.getThreads()},
               {"machine", Json::parse(machine.print())},
               {"request", Json::parse(request)},
               {"arenas", describeArenas(module, program, decided)}};
  if (decided) {
    plan["minimum_bytes"] = numberIn(decided, "minimum");
    plan["minimum_host_bytes"] = numberIn(decided, "minimum_host");
    plan["floor_bytes"] = numberIn(decided, "floor");
    plan["floor_operation"] = decided.getAs<StringAttr>("floor_at").str();
  }
  if (auto recomputed = module->getAttrOfType<DictionaryAttr>(zero::recomputedAttrName))
    plan["recomputed"] = {{"segments", numberIn(recomputed, "segments")},
                          {"joined", numberIn(recomputed, "joined")},
                          {"of", numberIn(recomputed, "of")}};
  if (auto offloaded = module->getAttrOfType<DictionaryAttr>(zero::offloadedAttrName))
    plan["offloaded"] = {{"values", numberIn(offloaded, "values")},
                         {"bytes", numberIn(offloaded, "bytes")},
                         {"scratch_bytes", scratchBytes(program)}};
  plan["step"] = describeStep(simulation);
  plan["prologue"] = {{"predicted_seconds", simulation.prologueSeconds},
                      {"commands", simulation.prologue.size()}};
  plan["states"] = describeStates(module, decided);
  plan["parts"] = describeParts(program);
  // Names that are not UTF-8 are replaced rather than refused.
  return plan.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}
