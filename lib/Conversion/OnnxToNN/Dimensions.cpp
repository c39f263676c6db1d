#include "lib/Conversion/OnnxToNN/Dimensions.h"

#include "runtime/base/Nearest.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace spillway;

namespace {

/// Where a named dimension occurs: "input_ids[1]", ...
using Occurrences = llvm::MapVector<StringRef, SmallVector<std::string>>;

struct DynamicDim {
  unsigned input;
  int64_t dim;
  std::string name;
};

SmallVector<DynamicDim> dynamicDims(onnx::GraphOp graph) {
  SmallVector<DynamicDim> found;
  for (BlockArgument argument : graph.getBody().front().getArguments()) {
    unsigned input = argument.getArgNumber();
    auto names = cast<ArrayAttr>(graph.getDims()[input]);
    auto type = cast<RankedTensorType>(argument.getType());
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      if (!type.isDynamicDim(dim))
        continue;
      StringRef name = cast<StringAttr>(names[dim]).getValue();
      StringRef inputName = cast<StringAttr>(graph.getInputs()[input]).getValue();
      found.push_back({input, dim,
                       name.empty() ? (inputName + "." + Twine(dim)).str() : name.str()});
    }
  }
  return found;
}

FailureOr<llvm::StringMap<int64_t>> parseBindings(onnx::GraphOp graph,
                                                  ArrayRef<std::string> bindings,
                                                  const Occurrences &occurrences) {
  llvm::StringMap<int64_t> sizes;
  std::vector<std::string> candidates;
  for (const auto &entry : occurrences)
    candidates.push_back(entry.first.str());
  bool failed = false;
  for (StringRef binding : bindings) {
    auto [name, text] = binding.rsplit('=');
    int64_t size;
    if (text.getAsInteger(10, size) || size < 0) {
      emitError(graph.getLoc(), "dimension binding '")
          << binding << "' must be NAME=SIZE with a size of at least 0";
      failed = true;
    } else if (!occurrences.contains(name)) {
      InFlightDiagnostic error = emitError(graph.getLoc(), "the model has no dimension '") << name << "'";
      if (name.contains(','))
        error << "; --dim is given once for each";
      else if (candidates.empty())
        error << "; all sizes of its inputs are fixed, or come with what --bind gives";
      else if (std::string nearest = didYouMean(name, candidates); !nearest.empty())
        error << nearest;
      else
        error << "; it has " << llvm::join(candidates, ", ");
      failed = true;
    } else if (auto [entry, isNew] = sizes.try_emplace(name, size);
               !isNew && entry->second != size) {
      emitError(graph.getLoc(), "dimension '") << name << "' is bound to " << entry->second << " and to "
                                     << size;
      failed = true;
    }
  }
  if (failed)
    return failure();
  return sizes;
}

} // namespace

FailureOr<SmallVector<Shape>> spillway::bindDimensions(onnx::GraphOp graph,
                                                       ArrayRef<std::string> bindings) {
  SmallVector<DynamicDim> dynamic = dynamicDims(graph);
  Occurrences occurrences;
  for (const DynamicDim &each : dynamic) {
    StringRef input = cast<StringAttr>(graph.getInputs()[each.input]).getValue();
    occurrences[each.name].push_back((input + "[" + Twine(each.dim) + "]").str());
  }
  auto sizes = parseBindings(graph, bindings, occurrences);
  if (failed(sizes))
    return failure();

  SmallVector<std::string> unbound;
  for (const auto &[name, places] : occurrences)
    if (!sizes->contains(name))
      unbound.push_back((name + " (" + llvm::join(places, ", ") + ")").str());
  if (!unbound.empty())
    return emitError(graph.getLoc(), "dimensions need sizes: ")
           << llvm::join(unbound, "; ") << "; give each as --dim NAME=SIZE";

  SmallVector<Shape> shapes;
  for (Type type : graph.getBody().front().getArgumentTypes())
    shapes.emplace_back(cast<RankedTensorType>(type).getShape());
  for (const DynamicDim &each : dynamic)
    shapes[each.input][each.dim] = sizes->lookup(each.name);
  return shapes;
}
