// One walk over the nodes of a graph that builds a function of nn.
#pragma once

#include "spillway/Conversion/OnnxToNN/Dropouts.h"
#include "spillway/Conversion/OnnxToNN/Node.h"
#include "spillway/Conversion/OnnxToNN/NormStatistics.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spillway {

class ModelConverter {
public:
  struct Options {
    /// What the paths of initializers are relative to.
    std::string directory;
    /// Initializers of floats with dimensions stay states.
    bool keepParameters = false;
    /// Norms that no name chooses take the statistics of their batch and update running ones.
    std::optional<NamePatterns> trainedNormsButFor;
    /// Dropouts that no name chooses drop elements.
    std::optional<NamePatterns> trainedDropoutsButFor;
  };

  ModelConverter(mlir::ModuleOp module, onnx::GraphOp graph, Options options);

  /// Reports all operators that are not supported, at once.
  mlir::LogicalResult checkOperators();

  /// Replaces the graph and the initializers by `func.func @main` and states.
  /// `shapes` are those of the graph's inputs; its operators have been checked. On failure, of which all reasons
  /// have been reported, the module is half converted.
  mlir::LogicalResult run(llvm::ArrayRef<Shape> shapes);

private:
  /// Loops in loops would otherwise make any number: of nodes, each run of a body being one more, and of what these
  /// become.
  static constexpr uint64_t maxUnrolledNodes = 1 << 18;
  static constexpr uint64_t maxUnrolledOperations = 1 << 21;

  mlir::LogicalResult createFunction(llvm::ArrayRef<Shape> shapes);
  mlir::LogicalResult convertNode(onnx::NodeOp op);
  mlir::FailureOr<llvm::SmallVector<NodeValue>> convertBody(mlir::Region &body,
                                                            llvm::ArrayRef<NodeValue> arguments);
  mlir::LogicalResult checkUnrolled(mlir::Location location);
  mlir::LogicalResult checkInputs(onnx::NodeOp op, const Operator &row,
                                  llvm::ArrayRef<NodeValue> inputs);
  mlir::LogicalResult createReturn(onnx::ReturnOp end);
  void eraseUnused();

  /// What an operand of a node is; nothing where what made it has failed.
  mlir::FailureOr<NodeValue> valueOf(mlir::Value value);
  /// An initializer, as a constant or as a use of its state.
  mlir::FailureOr<Tensor> initializerValue(onnx::UseOp use);
  /// The initializer's state, whose type is `stored` but for signs.
  mlir::FailureOr<Tensor> stateValue(onnx::UseOp use, onnx::InitializerOp initializer,
                                     mlir::RankedTensorType stored, DataType type);
  mlir::FailureOr<zero::StateOp> stateOf(onnx::InitializerOp initializer,
                                         llvm::ArrayRef<int64_t> shape, DataType type);
  /// Nothing where the value is not known and too large to read, or where reading fails.
  std::optional<TensorValue> readValue(Tensor tensor);
  /// Nothing where no more values may be held (see KnownValues); failure where reading fails.
  mlir::FailureOr<std::optional<TensorValue>> readState(zero::StateOp state);

  mlir::ModuleOp module;
  onnx::GraphOp graph;
  Options options;
  mlir::SymbolTable symbols;
  mlir::func::FuncOp function;
  mlir::OpBuilder builder;
  /// Where states go: in front of the function.
  mlir::OpBuilder stateBuilder;
  KnownValues known;
  Emitter emit;
  llvm::DenseMap<mlir::Value, NodeValue> converted;
  /// By symbol.
  llvm::StringMap<zero::StateOp> states;
  llvm::StringMap<TensorValue> readStates;
  TrainingInputs trainingInputs;
  NormStatistics norms;
  std::optional<Dropouts> dropouts;
  /// Runs of subgraphs and the nodes that were converted in them.
  uint64_t unrolledNodes = 0;
  /// Operators that were accepted although newer than the model's opset.
  llvm::StringSet<> remarked;
};

} // namespace spillway
