#include "dialects/NN/NN.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace spillway::nn;

#include "dialects/NN/NNDialect.cpp.inc"
#include "dialects/NN/NNEnums.cpp.inc"
#include "dialects/NN/NNInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/NN/NNAttrs.cpp.inc"

void NNDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/NN/NNAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/NN/NNOps.cpp.inc"
      >();
}

LogicalResult PanelsAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t dim, int64_t width) {
  if (dim != 0 && dim != 1)
    return emitError() << "panels are cut along dimension 0 or 1, not " << dim;
  if (width < 1)
    return emitError() << "panels have a width of 1 at least, not " << width;
  return success();
}

int64_t spillway::nn::elementBytes(Type type) {
  return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

int64_t spillway::nn::tensorBytes(RankedTensorType type) {
  return type.getNumElements() * elementBytes(type.getElementType());
}

int64_t spillway::nn::panelDepth(RankedTensorType type, int64_t dim) {
  int64_t depth = 1;
  for (auto [d, size] : llvm::enumerate(type.getShape()))
    depth *= static_cast<int64_t>(d) == dim ? 1 : size;
  return depth;
}
