// What a plan decided, for `spillway inspect` and for reports.
#pragma once

#include "spillway/Plan/Simulator.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace spillway::plan {

/// What a look-up of one row reads, for each state of a module.
std::vector<uint64_t> lookupPieces(mlir::ModuleOp module);

/// A module with its rt.program, and that program's simulation on a machine, as JSON: arenas and
/// what they hold, where each state's tiles live and why, bytes that move, predicted time, bound
/// and gap, and the least memory that works. `request` is an object of what the plan was asked for.
std::string summarize(mlir::ModuleOp module, const Machine &machine, const Simulation &simulation,
                      const std::string &request = "{}");

} // namespace spillway::plan
