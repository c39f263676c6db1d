#include "spillway/Plan/Residents.h"

#include "runtime/state/State.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::plan;
using zero::StateOp;

std::pair<uint64_t, uint64_t> spillway::plan::tileExtent(StateOp state,
                                                      std::optional<int64_t> tile) {
  if (!tile)
    return {0, stateExtent(state)};
  auto [begin, end] = state.getTileUnits(*tile);
  uint64_t unitBytes = state.getUnitBytes();
  uint64_t bytes = std::min<uint64_t>(end * unitBytes, state.getStoredBytes()) - begin * unitBytes;
  return {begin * unitBytes, llvm::alignTo(bytes, blockBytes)};
}

bool spillway::plan::endsInPadding(StateOp state) {
  bool panelIsFull = !state.getLayout() || state.getTensorType().getDimSize(state.getUnitDim()) % state.getUnitWidth() == 0;
  return !panelIsFull || state.getStoredBytes() % blockBytes != 0;
}

uint64_t spillway::plan::partExtent(StateOp state, int64_t tile) {
  return state.getPartUnits(tile) * state.getUnitBytes();
}

uint64_t spillway::plan::gatheredExtent(StateOp state, int64_t tile) {
  return *state.getPartition() * partExtent(state, tile);
}

uint64_t spillway::plan::stateExtent(StateOp state) {
  return llvm::alignTo(static_cast<uint64_t>(state.getStoredBytes()), blockBytes);
}

Residents::Residents(ModuleOp module, zero::Tier tier, zero::Tier computeTier) {
  for (StateOp state : module.getOps<StateOp>()) {
    size_t firstRun = runs_.size();
    bool isWhole = tier == computeTier || !state.getPartition();
    for (int64_t tile = 0; tile < state.getTileCount(); ++tile) {
      if (state.getTileHome(tile) != tier)
        continue;
      auto [offset, bytes] = tileExtent(state, tile);
      if (!isWhole)
        bytes = partExtent(state, tile);
      if (runs_.size() == firstRun || runs_.back().lastTile != tile || !isWhole)
        runs_.push_back({state, tile, tile, offset, bytes_, 0, isWhole ? 0 : bytes});
      runs_.back().lastTile = tile + 1;
      runs_.back().bytes += bytes;
      bytes_ += bytes;
    }
    runsOf_[state] = {firstRun, runs_.size()};
  }
}

uint64_t Residents::offsetOf(StateOp state, int64_t tile) const {
  auto [begin, end] = runsOf_.lookup(state);
  for (size_t i = begin; i < end; ++i)
    if (runs_[i].firstTile <= tile && tile < runs_[i].lastTile)
      return runs_[i].offset + tileExtent(state, tile).first - runs_[i].stateOffset;
  llvm_unreachable("the tile is at home in another tier");
}
