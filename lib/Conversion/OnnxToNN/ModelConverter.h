// One walk over the nodes of a graph that builds a function of nn.
#pragma once

#include "lib/Conversion/OnnxToNN/Node.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spillway {

class ModelConverter {
public:
  /// `directory` is what the paths of initializers are relative to.
  ModelConverter(mlir::ModuleOp module, onnx::GraphOp graph, llvm::StringRef directory);

  /// Replaces the graph and the initializers by `func.func @main` and states.
  /// `shapes` are those of the graph's inputs. On failure, of which all reasons
  /// have been reported, the module is half converted.
  mlir::LogicalResult run(llvm::ArrayRef<Shape> shapes);

private:
  mlir::LogicalResult reportUnsupported();
  mlir::LogicalResult createFunction(llvm::ArrayRef<Shape> shapes);
  mlir::LogicalResult convertNode(onnx::NodeOp op);
  mlir::LogicalResult checkInputs(onnx::NodeOp op, const Operator &row,
                                  llvm::ArrayRef<NodeValue> inputs);
  mlir::LogicalResult createReturn(onnx::ReturnOp end);
  void eraseUnused();

  /// What an operand of a node is; nothing where what made it has failed.
  mlir::FailureOr<NodeValue> valueOf(mlir::Value value);
  /// An initializer, as a constant or as a use of its state.
  mlir::FailureOr<Tensor> initializerValue(onnx::UseOp use);
  mlir::FailureOr<zero::StateOp> stateOf(onnx::InitializerOp initializer, DataType type);
  /// Null where the value is too large to read, or where reading fails.
  const TensorValue *readValue(Tensor tensor);
  const TensorValue *readState(zero::StateOp state);

  mlir::ModuleOp module;
  onnx::GraphOp graph;
  std::string directory;
  mlir::SymbolTable symbols;
  mlir::func::FuncOp function;
  mlir::OpBuilder builder;
  /// Where states go: in front of the function.
  mlir::OpBuilder stateBuilder;
  KnownValues known;
  Emitter emit;
  llvm::DenseMap<mlir::Value, NodeValue> converted;
  llvm::StringMap<zero::StateOp> states;
  /// By symbol of the state. Entries stay where they are.
  llvm::StringMap<TensorValue> readStates;
  /// Operators that were accepted although newer than the model's opset.
  llvm::StringSet<> remarked;
};

} // namespace spillway
