#include "spillway/Plan/StoreLayout.h"

#include "dialects/Zero/Zero.h"
#include "spillway/Plan/Activations.h"
#include "spillway/Plan/Residents.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::plan;

StoreLayout spillway::plan::layoutStore(ModuleOp module) {
  constexpr uint64_t smallBytes = 64 << 10;
  StoreLayout layout;
  for (zero::StateOp state : module.getOps<zero::StateOp>()) {
    StatePlace place;
    place.storedBytes = state.getStoredBytes();
    place.chunkBytes = lookupPieceBytes(state);
    layout.places.push_back(place);
  }
  for (bool small : {true, false})
    for (auto [place, state] : llvm::zip(layout.places, module.getOps<zero::StateOp>())) {
      if ((stateExtent(state) <= smallBytes) != small)
        continue;
      place.fileOffset = layout.fileBytes;
      layout.fileBytes += stateExtent(state);
    }
  return layout;
}
