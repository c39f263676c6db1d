// Where the lanes of a vector lie in a tensor.
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>

namespace spillway::kernels {

class KernelBuilder;
struct IndexSplit;

/// What is known of an index value.
struct IndexFacts {
  /// The value is a multiple of it.
  int64_t divisor = 1;
  /// The value is below it.
  int64_t bound = std::numeric_limits<int64_t>::max();
  /// The value alone may be negative: only with a constant added to it it is a position.
  bool mayBeNegative = false;
};

/// value + constant; no value is zero.
struct ScalarIndex {
  mlir::Value value;
  int64_t constant = 0;
  bool operator==(const ScalarIndex &) const = default;
};

/// The position of each lane along one dimension: lane l lies at base + l * stride, or,
/// with `offsets` (vector<lanes x index>), at base + offsets[l]. The positions of active
/// lanes are those of elements; lane 0 is always active.
struct LaneIndex {
  ScalarIndex base;
  int64_t stride = 0;
  mlir::Value offsets;
  /// Not yet computed: component `part` of a linear index cut into sizes.
  const IndexSplit *split = nullptr;
  unsigned part = 0;

  LaneIndex() = default;
  explicit LaneIndex(int64_t constant, int64_t stride = 0) : base{{}, constant}, stride(stride) {}
  explicit LaneIndex(mlir::Value value, int64_t stride = 0) : base{value, 0}, stride(stride) {}
  bool operator==(const LaneIndex &) const = default;
};

/// One position per dimension of a tensor.
using ElementIndex = llvm::SmallVector<LaneIndex, 4>;

struct IndexSplit {
  LaneIndex linear;
  llvm::SmallVector<int64_t> sizes;
};

/// Index arithmetic inside one block. What was computed in the block, or in a block
/// that it is nested in, is not computed again. Divisions that facts about loop
/// variables decide vanish.
class IndexMath {
public:
  /// The first `active` of `lanes` lanes are active.
  IndexMath(KernelBuilder &kernel, int64_t lanes, int64_t active, IndexMath *outer = nullptr)
      : kernel_(kernel), lanes_(lanes), active_(active), outer_(outer) {}

  int64_t lanes() const { return lanes_; }
  int64_t active() const { return active_; }

  /// True where all lanes lie at one place in all dimensions.
  bool isUniform(llvm::ArrayRef<LaneIndex> index);
  /// The same index with its split computed.
  LaneIndex resolve(const LaneIndex &index);

  LaneIndex add(const LaneIndex &lhs, const LaneIndex &rhs);
  LaneIndex add(const LaneIndex &lhs, int64_t rhs);
  LaneIndex multiply(const LaneIndex &lhs, int64_t rhs);
  /// Quotient and remainder by a positive constant.
  LaneIndex divide(const LaneIndex &index, int64_t by);
  LaneIndex remainder(const LaneIndex &index, int64_t by);
  /// Row-major position in a tensor of this shape.
  LaneIndex linearize(llvm::ArrayRef<LaneIndex> index, llvm::ArrayRef<int64_t> shape);
  /// The index at a row-major position in a tensor of this shape.
  ElementIndex delinearize(const LaneIndex &linear, llvm::ArrayRef<int64_t> shape);
  /// The index of the same element where the tensor is reshaped.
  ElementIndex reshape(llvm::ArrayRef<LaneIndex> index, llvm::ArrayRef<int64_t> from,
                       llvm::ArrayRef<int64_t> to);

  /// base as one value.
  mlir::Value value(const ScalarIndex &index);
  /// Positions as vector<lanes x index>; as an index for one lane or a uniform index.
  mlir::Value positions(const LaneIndex &index);
  /// Distances from the base as vector<lanes x index>.
  mlir::Value offsets(const LaneIndex &index);

  IndexFacts facts(const ScalarIndex &index) const;

private:
  enum class Kind { sum, product, quotient, remainder, laneOffsets, splat };
  using Key = std::tuple<int, void *, void *, int64_t>;

  template <typename Make>
  mlir::Value once(Kind kind, mlir::Value lhs, mlir::Value rhs, int64_t constant, Make make);
  ScalarIndex addScalar(const ScalarIndex &lhs, const ScalarIndex &rhs);
  ScalarIndex multiplyScalar(const ScalarIndex &lhs, int64_t rhs);
  /// The same index as one value that is not negative, where its parts may be.
  ScalarIndex nonNegative(const ScalarIndex &index);
  ScalarIndex divideScalar(const ScalarIndex &index, int64_t by);
  ScalarIndex remainderScalar(const ScalarIndex &index, int64_t by);
  /// Whether base .. base + span certainly holds no multiple of `by` but base itself.
  bool staysInBlock(const ScalarIndex &base, int64_t span, int64_t by) const;
  std::pair<LaneIndex, LaneIndex> divideLanes(const LaneIndex &index, int64_t by);
  mlir::Value laneConstant(llvm::function_ref<int64_t(int64_t lane)> value);
  mlir::Value constantLike(mlir::Type type, int64_t value);
  LaneIndex splitRange(const IndexSplit &split, unsigned first, unsigned last);

  KernelBuilder &kernel_;
  int64_t lanes_, active_;
  IndexMath *outer_;
  llvm::DenseMap<Key, mlir::Value> values_;
};

} // namespace spillway::kernels
