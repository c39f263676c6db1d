// Where the elements of a state come from.
#pragma once

#include "dialects/Zero/Zero.h"

#include <memory>

namespace spillway {

/// The elements of a state in canonical (row-major) order, little-endian, one byte
/// for a bool; read piece by piece, so that no state is ever in memory as a whole.
class StateSource {
public:
  virtual ~StateSource() = default;

  /// Fills `bytes` with the canonical bytes from `offset` on. The range lies inside the
  /// state. Diagnoses what cannot be read at the state.
  virtual mlir::LogicalResult read(uint64_t offset, llvm::MutableArrayRef<char> bytes) = 0;

  /// Opens the source of `state`; diagnoses a file that cannot be opened, is shorter than the state's
  /// extent, or holds another number of bytes. A relative path begins at `folder`.
  static mlir::FailureOr<std::unique_ptr<StateSource>> open(zero::StateOp state,
                                                            llvm::StringRef folder = "");
};

} // namespace spillway
