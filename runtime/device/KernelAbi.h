// The contract between generated kernels and whoever launches them.
#pragma once

#include <cstdint>

namespace spillway {

/// One operand of a kernel: inputs first, then results.
struct KernelArgument {
  /// First byte of the operand, aligned to at least its element.
  void *data;
  /// Unit of the kernel's space whose part of the operand `data` points to: 0
  /// where the whole operand is there; the first unit of the tile where only a
  /// tile of a panel-packed weight is.
  int64_t origin;
  /// How many units the tile has; at least those of the whole operand where that is there.
  int64_t units = wholeOperand;

  static constexpr int64_t wholeOperand = int64_t(1) << 40;
};

/// Why a kernel could not compute what its inputs ask for. Kernels store the
/// first fault they meet, clamp, and go on inside their buffers.
enum class KernelFault : int32_t {
  none = 0,
  /// An index of Gather or the like lies outside its dimension.
  indexOutOfRange = 1,
};

/// What one call computes: of the units [begin, end) of the kernel's space the `part`-th of
/// `parts` parts as equal as can be. More than one part only of kernels that say so.
struct KernelRange {
  int64_t begin;
  int64_t end;
  int64_t part = 0;
  int64_t parts = 1;
};

/// Calls with disjoint ranges, or other parts of the same one, may run at the same time and
/// together compute the same bits whatever the cut.
/// `scratch` is private to the call, 64-byte aligned, of the size stated for the
/// kernel, undefined on entry. `fault` may be shared by concurrent calls. A
/// kernel allocates nothing and calls nothing.
using KernelFunction = void (*)(const KernelArgument *arguments, const KernelRange *range, void *scratch,
                                int32_t *fault);

/// Columns of a packed weight that lie side by side, on every CPU.
inline constexpr int64_t panelWidth = 16;
/// Virtual lanes of a row reduction, on every CPU.
inline constexpr int64_t reductionLanes = 16;
/// Elements of a chunk of a reduction over a whole tensor, on every CPU.
inline constexpr int64_t reductionChunk = 4096;

} // namespace spillway
