// From a module in kernel form to what the planner sees of it.
#pragma once

#include "dialects/NN/NN.h"
#include "spillway/Plan/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spillway::plan {

/// `function` uses whole states (it is not tiled or scheduled yet). States are numbered in the
/// order in which they stand in the module; a `tile` that they carry is kept.
mlir::FailureOr<Step> extractStep(mlir::func::FuncOp function, int64_t threads);

/// What a kernel costs on all of its units.
KernelCost kernelCostOf(nn::KernelOp kernel);

/// The type that most of a kernel's arithmetic is in: that of its cost; else f64 where the first float that it takes is, else f32,
/// in which narrower ones are computed.
DataType arithmeticTypeOf(nn::KernelOp kernel);

} // namespace spillway::plan
