// Topological order of the nodes of one graph.
#pragma once

#include "lib/Import/Messages.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace spillway::onnx {

/// Indices of `nodes` so that each comes after those whose outputs it, or a subgraph of
/// it, uses; as near to the file's order as that allows. Failure, with the
/// index of a node on it, where there is a cycle.
mlir::FailureOr<std::vector<size_t>> orderNodes(llvm::ArrayRef<NodeMessage> nodes,
                                                size_t &nodeOnCycle);

} // namespace spillway::onnx
