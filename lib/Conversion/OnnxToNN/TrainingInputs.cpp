#include "spillway/Conversion/OnnxToNN/TrainingInputs.h"

#include "runtime/train/StepNames.h"
#include "spillway/Conversion/OnnxToNN/Bindings.h"

using namespace mlir;
using namespace spillway;

LogicalResult TrainingInputs::requireFreeNames(Location location, ArrayAttr inputs) {
  for (StringRef name : inputs.getAsValueRange<StringAttr>())
    if (name == StringRef(trainingInput) || name == StringRef(randomInput))
      return emitError(location, "the input '")
             << name << "' is called as one that a training step adds; give it another name, or --bind it to a value";
  return success();
}

Tensor TrainingInputs::isTraining() {
  if (!training)
    training = Tensor{appendInput(function, trainingInput, DataType::boolean, {}), DataType::boolean};
  return *training;
}

Tensor TrainingInputs::randomKey() {
  int64_t known = keys ? cast<RankedTensorType>(keys.getType()).getDimSize(0) : 0;
  RankedTensorType type = emit.typeOf(DataType::i64, {known + 1});
  if (!keys)
    keys = appendInput(function, randomInput, DataType::i64, type.getShape());
  keys.setType(type);
  function.setType(FunctionType::get(emit.context(), function.getBody().front().getArgumentTypes(),
                                     function.getResultTypes()));
  // A slice though it may be all: there may be more keys.
  SmallVector<int64_t> place{known}, stride{1};
  Value key = emit.create<nn::SliceOp>(emit.typeOf(DataType::i64, {1}), keys, place, stride);
  return emit.reshape({key, DataType::i64}, {});
}
