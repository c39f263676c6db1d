// Where each state lies in a bundle's state file. Depends on the states alone, so
// that one file serves every budget.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <vector>

namespace spillway::plan {

/// See runtime/table/store.fbs.
struct StatePlace {
  uint64_t fileOffset = 0;
  uint64_t storedBytes = 0;
  uint64_t chunkBytes = 0;
};

struct StoreLayout {
  /// One per zero.state, in the order in which they stand in the module: the numbers by
  /// which step tables name them.
  std::vector<StatePlace> places;
  uint64_t fileBytes = 0;
};

/// Small states first, side by side, then the others; each in its order in the module,
/// at a multiple of 4096.
StoreLayout layoutStore(mlir::ModuleOp module);

} // namespace spillway::plan
