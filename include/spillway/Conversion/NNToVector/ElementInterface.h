// The interface of movement operations. See ElementInterface.td.
#pragma once

#include "spillway/Conversion/NNToVector/ElementEmitter.h"

#include "mlir/IR/OpDefinition.h"

#include "lib/Conversion/NNToVector/ElementInterface.h.inc"
