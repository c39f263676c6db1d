// From kernels and states to a step table for one budget.
#pragma once

#include "spillway/Plan/Machine.h"
#include "spillway/Plan/Simulator.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spillway {

/// What becomes of values that a training step takes much later, as the backward half does those of the forward half.
enum class ActivationPolicy {
  /// What makes the fastest step in the memory given.
  automatic,
  keep,
  /// Computed again, but for what crosses between segments (see zero-recompute).
  recompute,
  /// On the drive meanwhile (see zero-offload).
  offload,
};

struct PlanOptions {
  struct Tiers {
    uint64_t device = 0, host = 0;
  };

  /// More than any machine has: everything stays resident.
  static constexpr uint64_t allMemory = uint64_t(1) << 46;

  /// Bytes of all memory, where there are no `tiers`.
  uint64_t memory = allMemory;
  /// A plan of three tiers: device, host and NVMe.
  std::optional<Tiers> tiers;
  int64_t threads = 1;
  /// Ranks that share the states; `memory` and `tiers` are what each has.
  int64_t ranks = 1;
  /// REGEX=UNITS over ONNX names: tiles of these states.
  std::vector<std::string> tiles;
  plan::Machine machine;
  ActivationPolicy activations = ActivationPolicy::automatic;
  /// File that receives the plan as a page (see plan::drawReport); empty for none.
  std::string report;
};

struct PlannedProgram {
  /// See runtime/table/table.fbs.
  std::vector<uint8_t> table;
  /// See plan::summarize.
  std::string summary;
  plan::Simulation simulation;
};

/// What was asked for, of a plan's summary: the options but for its report. Empty where it does not
/// say, or wrongly.
std::optional<PlanOptions> requestedPlan(llvm::StringRef summary);

/// Passes from the form *kernels* to an rt.program: partition, recompute and offload, plan, tile, schedule, convert.
void buildPlanPipeline(mlir::OpPassManager &passes, const PlanOptions &options);

/// Encodes a module's rt.program and replays it. A table that the simulator cannot
/// run is diagnosed as a bug.
mlir::FailureOr<PlannedProgram> encodePlan(mlir::ModuleOp module, const PlanOptions &options);

/// Both, in place. Diagnoses a budget that is too small with the smallest that works.
mlir::FailureOr<PlannedProgram> planProgram(mlir::ModuleOp module, const PlanOptions &options);

} // namespace spillway
