// From rt to the step table that the runtime reads (runtime/table/table.fbs).
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <vector>

namespace spillway {

/// The version of the table's format that translateToTable writes.
inline constexpr uint32_t writtenTableVersion = 7;

/// Encodes the one rt.program of a module. States are numbered in the order in which they
/// stand in the module; kernels in the order of their first launch, by their symbols. Commands
/// keep their order. Diagnoses a module without a program, or whose program names states or
/// kernels that do not exist.
mlir::FailureOr<std::vector<uint8_t>> translateToTable(mlir::ModuleOp module);

} // namespace spillway
