#include "lib/Conversion/OnnxToNN/Dimensions.h"
#include "lib/Conversion/OnnxToNN/ModelConverter.h"
#include "spillway/Conversion/OnnxToNN/Passes.h"

#include "llvm/ADT/StringExtras.h"

namespace spillway {
#define GEN_PASS_DEF_CONVERTONNXTONNPASS
#include "spillway/Conversion/OnnxToNN/Passes.h.inc"
} // namespace spillway

using namespace mlir;
using namespace spillway;

namespace {

class ConvertOnnxToNNPass : public spillway::impl::ConvertOnnxToNNPassBase<ConvertOnnxToNNPass> {
public:
  using ConvertOnnxToNNPassBase::ConvertOnnxToNNPassBase;

  void runOnOperation() override {
    auto graphs = llvm::to_vector(getOperation().getOps<onnx::GraphOp>());
    if (graphs.size() != 1) {
      getOperation().emitError("the module must hold one onnx.graph, not ") << graphs.size();
      return signalPassFailure();
    }
    ModelConverter::Options options{.directory = directory,
                                    .keepParameters = keepParameters,
                                    .trainedNormsButFor = {},
                                    .trainedDropoutsButFor = {}};
    if (train) {
      FailureOr<NamePatterns> norms = namesOf("eval-norm", evalNorms), dropouts = namesOf("eval-dropout", evalDropouts);
      if (failed(norms) || failed(dropouts))
        return signalPassFailure();
      options.trainedNormsButFor = std::move(*norms);
      options.trainedDropoutsButFor = std::move(*dropouts);
    }
    ModelConverter converter(getOperation(), graphs.front(), std::move(options));
    LogicalResult supported = converter.checkOperators();
    auto shapes = bindDimensions(graphs.front(), SmallVector<std::string>(dims.begin(), dims.end()));
    Location location = graphs.front().getLoc();
    if (failed(supported) || failed(shapes))
      return signalPassFailure();
    if (failed(converter.run(*shapes))) {
      if (!dims.empty())
        emitRemark(location) << "the sizes are those of --dim: " << llvm::join(dims, ", ");
      signalPassFailure();
    }
  }

private:
  FailureOr<NamePatterns> namesOf(StringRef what, const ListOption<std::string> &patterns) {
    return NamePatterns::parse(getOperation().getLoc(), what, SmallVector<std::string>(patterns.begin(), patterns.end()));
  }
};

} // namespace
