// What losses over classes have in common.
#pragma once

#include "spillway/Conversion/OnnxToNN/Emitter.h"

namespace spillway {

/// Minus the element of `logs` along `dim` that each label names: labels have the other dimensions.
Tensor negatedPick(Emitter &emit, Tensor logs, Tensor labels, int64_t dim);

/// Where labels are an input of the function, perhaps in another shape or type or from a place of dimension 1 on, says
/// at it (classesAttrName) what it holds: classes below `count`, or `ignored`. Places before `first` are not looked at.
void markClasses(mlir::Value labels, int64_t count, int64_t ignored, int64_t first = 0);

} // namespace spillway
