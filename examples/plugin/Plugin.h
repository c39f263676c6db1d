// What the plugin adds; Plugin.cpp registers it.
#pragma once

#include "spillway/Conversion/OnnxToNN/Node.h"

/// A pass over the form onnx: see CapRelu.cpp.
void registerCapReluPass();

/// Swish of domain com.example: x * sigmoid(alpha * x), alpha an attribute (1 where it is absent).
mlir::LogicalResult convertSwish(spillway::Node &node);
