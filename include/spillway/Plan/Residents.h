// Where the tiles, or a rank's parts of them, lie that stay in a tier.
#pragma once

#include "dialects/Zero/Zero.h"

#include "llvm/ADT/DenseMap.h"

namespace spillway::plan {

/// Tiles of one state that follow each other and stay whole, or a rank's part of one.
struct ResidentRun {
  zero::StateOp state;
  /// Tiles [firstTile, lastTile).
  int64_t firstTile = 0, lastTile = 0;
  /// Of the first tile, in bytes: in the state, and in the tier's arena.
  uint64_t stateOffset = 0;
  uint64_t offset = 0;
  /// Whole blocks of 4096.
  uint64_t bytes = 0;
  /// In the state, from a rank's part to the next one's; 0 where tiles are whole.
  uint64_t rankStride = 0;
};

/// Byte offset of a tile in its state, and its bytes in whole blocks of 4096; of the
/// whole state where there is no tile.
std::pair<uint64_t, uint64_t> tileExtent(zero::StateOp state, std::optional<int64_t> tile);
/// Bytes of a rank's part of a tile: whole blocks. The state is partitioned.
uint64_t partExtent(zero::StateOp state, int64_t tile);
/// Bytes of the parts of all ranks, in which the tile lies as it is gathered.
uint64_t gatheredExtent(zero::StateOp state, int64_t tile);
/// Bytes of all tiles in whole blocks of 4096.
uint64_t stateExtent(zero::StateOp state);
/// Whether the last panel or block of 4096 bytes of a state is not full.
bool endsInPadding(zero::StateOp state);

/// Packs the tiles at home in `tier`, in the order of the states in the module,
/// from offset 0 on: whole in the tier that kernels compute on, elsewhere a rank's
/// parts of those that are partitioned.
class Residents {
public:
  Residents(mlir::ModuleOp module, zero::Tier tier, zero::Tier computeTier);

  const std::vector<ResidentRun> &runs() const { return runs_; }
  uint64_t bytes() const { return bytes_; }
  /// The tile must be at home in the tier.
  uint64_t offsetOf(zero::StateOp state, int64_t tile) const;

private:
  std::vector<ResidentRun> runs_;
  llvm::DenseMap<mlir::Operation *, std::pair<size_t, size_t>> runsOf_;
  uint64_t bytes_ = 0;
};

} // namespace spillway::plan
