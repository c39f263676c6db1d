// The function of one kernel while it is written: operands as memrefs, scratch,
// loops. Schedules work on it.
#pragma once

#include "spillway/Conversion/NNToVector/ElementIndex.h"
#include "spillway/Target/CPU/CpuTarget.h"

#include "dialects/NN/NN.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "runtime/device/KernelAbi.h"

#include <deque>

namespace spillway::kernels {

/// Element type of a tensor as it lies in memory: an i1 takes one byte.
mlir::Type storageType(mlir::Type element);

/// `element` for one lane, vector<lanes x element> for more.
mlir::Type laneType(mlir::Type element, int64_t lanes);

class KernelBuilder {
public:
  /// Makes the empty function at the insertion point of `builder`, in a module.
  KernelBuilder(nn::KernelOp kernel, const CpuTarget &target, mlir::OpBuilder &builder);

  nn::KernelOp kernel() { return kernel_; }
  /// The body of the kernel.
  mlir::Block &body() { return kernel_.getBody().front(); }
  nn::YieldOp yield();
  const CpuTarget &target() const { return target_; }
  mlir::func::FuncOp function() { return function_; }
  /// Inserts into the function; schedules and emitters all share it.
  mlir::ImplicitLocOpBuilder &builder() { return builder_; }

  /// The range of units to compute, and which of how many parts of it: the only one where the kernel's space has one.
  mlir::Value begin() { return begin_; }
  mlir::Value end() { return end_; }
  mlir::Value part() { return part_; }
  mlir::Value parts() { return parts_; }

  /// Operand `i` of the kernel as a memref of its elements in stored order (rank 1).
  /// A panel-packed one has its padding.
  mlir::Value argument(unsigned i) { return memrefs_[i]; }
  mlir::Value result(unsigned i) { return memrefs_[kernel_.getNumArguments() + i]; }
  /// The unit whose part of operand `i` comes first (KernelArgument::origin). Results follow the
  /// arguments.
  mlir::Value origin(unsigned i);
  /// How many units operand `i` holds from there on (KernelArgument::units); more than there are, where all.
  mlir::Value heldUnits(unsigned i);
  /// Says that operand `i` begins with the panel or rows of unit `first` (an index; else with the origin of
  /// one that is `nn.tiled` or `nn.depth_tiled`, and with unit 0 of others). Emitters find elements accordingly.
  void setFirstUnit(unsigned i, mlir::Value first) { firstUnits_[i] = first; }
  mlir::Value firstUnit(unsigned i) const { return firstUnits_.lookup(i); }
  /// What the kernel says of operand `i`; null where nothing.
  mlir::Attribute attribute(unsigned i, llvm::StringRef name);

  /// `type`, of static shape and identity layout, at a byte offset of the scratch.
  mlir::Value scratch(int64_t byteOffset, mlir::MemRefType type);
  /// `memref`, of rank 1, seen under another static shape from element `offset` on.
  mlir::Value view(mlir::Value memref, mlir::Value offset, llvm::ArrayRef<int64_t> shape);
  /// The values of a constant in row-major order, as a memref of rank 1.
  mlir::Value constantMemref(mlir::DenseElementsAttr values);

  mlir::Value constantIndex(int64_t value);
  /// Stores `fault` in the fault word where `condition` (i1) holds.
  void reportFault(mlir::Value condition, KernelFault fault);

  using LoopBody = llvm::function_ref<void(mlir::Value iv)>;
  /// for iv in [from, to) by step. Facts about iv follow from the bounds where they are known.
  void loop(mlir::Value from, mlir::Value to, int64_t step, LoopBody body);
  /// By a step that is known where the kernel runs.
  void loop(mlir::Value from, mlir::Value to, mlir::Value step, LoopBody body);
  void loop(int64_t from, int64_t to, int64_t step, LoopBody body);
  using ReducingBody =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value iv, mlir::ValueRange carried)>;
  llvm::SmallVector<mlir::Value> reduce(int64_t from, int64_t to, int64_t step,
                                        mlir::ValueRange initial, ReducingBody body);
  /// if (condition) { then }.
  void when(mlir::Value condition, llvm::function_ref<void()> then);

  /// What is known of an index value; the least that is known of any, where nothing was said.
  IndexFacts facts(mlir::Value index) const;
  void setFacts(mlir::Value index, IndexFacts facts) { facts_[index] = facts; }

  /// The split of `linear` into `sizes`, each at least 2; the same object for the same split.
  const IndexSplit *split(const LaneIndex &linear, llvm::ArrayRef<int64_t> sizes);

  /// Moves what does not change in a loop before it, reads of operands included, and ends the function. Scratch
  /// does not overlap operands; of one that a result lies over, each element is read for the same element alone.
  void finish();

private:
  enum Parameter : unsigned { argumentList, launchRange, scratchMemory, faultWord };

  /// An i64 behind one of the function's pointers, as an index.
  mlir::Value field(Parameter parameter, int64_t byteOffset);
  /// A field of operand `i` as the function's caller gives it.
  mlir::Value argumentField(unsigned i, int64_t byteOffset);
  mlir::Value memrefAt(mlir::Value pointer, mlir::MemRefType type);
  mlir::Value address(mlir::Value pointer, int64_t byteOffset);

  nn::KernelOp kernel_;
  CpuTarget target_;
  mlir::LLVMTypeConverter types_;
  mlir::ImplicitLocOpBuilder builder_;
  mlir::func::FuncOp function_;
  mlir::Value begin_, end_, part_, parts_;
  llvm::SmallVector<mlir::Value> memrefs_;
  llvm::DenseMap<unsigned, mlir::Value> origins_;
  llvm::DenseMap<unsigned, mlir::Value> firstUnits_;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants_;
  llvm::DenseMap<mlir::Value, IndexFacts> facts_;
  std::deque<IndexSplit> splits_;
};

} // namespace spillway::kernels
