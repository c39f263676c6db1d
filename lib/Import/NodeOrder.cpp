#include "lib/Import/NodeOrder.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace spillway::onnx;

namespace {

/// Calls `visit` with every name that `node` or a subgraph of it reads, except those
/// that the subgraphs define themselves.
void forEachInput(const NodeMessage &node, llvm::function_ref<void(StringRef)> visit) {
  for (StringRef input : node.inputs)
    if (!input.empty())
      visit(input);
  for (const AttributeMessage &attribute : node.attributes)
    for (const std::shared_ptr<GraphMessage> &graph : attribute.graphs) {
      llvm::DenseSet<StringRef> own;
      for (const ValueInfoMessage &input : graph->inputs)
        own.insert(input.name);
      for (const TensorMessage &initializer : graph->initializers)
        own.insert(initializer.name);
      for (const SparseTensorMessage &initializer : graph->sparseInitializers)
        own.insert(initializer.values.name);
      for (const NodeMessage &inner : graph->nodes)
        own.insert(inner.outputs.begin(), inner.outputs.end());
      auto visitFree = [&](StringRef name) {
        if (!own.contains(name))
          visit(name);
      };
      for (const NodeMessage &inner : graph->nodes)
        forEachInput(inner, visitFree);
      for (const ValueInfoMessage &output : graph->outputs)
        visitFree(output.name);
    }
}

} // namespace

FailureOr<std::vector<size_t>> spillway::onnx::orderNodes(ArrayRef<NodeMessage> nodes,
                                                          size_t &nodeOnCycle) {
  llvm::DenseMap<StringRef, size_t> producer;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (StringRef output : nodes[i].outputs)
      if (!output.empty())
        producer.try_emplace(output, i);

  enum class Mark : uint8_t { fresh, open, done };
  std::vector<Mark> marks(nodes.size(), Mark::fresh);
  std::vector<size_t> order, stack;
  order.reserve(nodes.size());
  for (size_t first = 0; first < nodes.size(); ++first) {
    stack.push_back(first);
    while (!stack.empty()) {
      size_t current = stack.back();
      if (marks[current] == Mark::done) {
        stack.pop_back();
        continue;
      }
      if (marks[current] == Mark::open) {
        marks[current] = Mark::done;
        order.push_back(current);
        stack.pop_back();
        continue;
      }
      marks[current] = Mark::open;
      bool cycle = false;
      forEachInput(nodes[current], [&](StringRef name) {
        auto found = producer.find(name);
        if (found == producer.end())
          return;
        if (marks[found->second] == Mark::open) {
          cycle = true;
          nodeOnCycle = current;
        } else if (marks[found->second] == Mark::fresh) {
          stack.push_back(found->second);
        }
      });
      if (cycle)
        return failure();
    }
  }
  return order;
}
