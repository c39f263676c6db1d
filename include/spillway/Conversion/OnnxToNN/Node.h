// An ONNX node on its way into nn: what a handler reads and what it leaves.
#pragma once

#include "spillway/Conversion/OnnxToNN/Emitter.h"
#include "spillway/Conversion/OnnxToNN/OperatorTable.h"

#include "dialects/Onnx/Onnx.h"

#include "llvm/ADT/StringSet.h"

namespace spillway {

class Dropouts;
class NormStatistics;

/// The driver has checked the numbers of inputs and outputs and the class of the
/// first input's type against the operator's row, and that inputs are tensors
/// unless the handler takes sequences. Everything else is the handler's to check: it
/// emits an error at the node and returns failure. Attributes that a handler has
/// not asked for are warned about, so it asks for all that it knows.
class Node {
public:
  /// Gives the value of a tensor that is known, or small enough to be read from the
  /// model's files.
  using Reader = llvm::function_ref<std::optional<TensorValue>(Tensor)>;

  /// Converts the nodes of a subgraph for these arguments and gives its outputs; errors are reported.
  using BodyRunner = llvm::function_ref<mlir::FailureOr<llvm::SmallVector<NodeValue>>(
      mlir::Region &, llvm::ArrayRef<NodeValue>)>;

  Node(onnx::NodeOp op, const Operator &row, int64_t version, llvm::ArrayRef<NodeValue> inputs,
       Emitter &emit, Reader readValue, BodyRunner runBody, NormStatistics *norms, Dropouts *dropouts)
      : emit(emit), op(op), row(row), opsetVersion(version), inputs(inputs),
        outputs(op->getNumResults()), readValue(readValue), runBody(runBody), norms_(norms),
        dropouts_(dropouts) {}

  Emitter &emit;

  const Operator &getOperator() const { return row; }
  /// Opset version of the operator's domain; at least the row's `since`.
  int64_t version() const { return opsetVersion; }
  llvm::StringRef name() const;
  /// Null where the model is neither differentiated nor trained.
  NormStatistics *norms() const { return norms_; }
  /// Null where the model is not trained.
  Dropouts *dropouts() const { return dropouts_; }
  mlir::InFlightDiagnostic error() { return mlir::emitError(op.getLoc()) << row.name << ": "; }

  // Inputs
  unsigned numInputs() const { return inputs.size(); }
  bool has(unsigned i) const {
    return i < inputs.size() && !std::holds_alternative<std::monostate>(inputs[i]);
  }
  const NodeValue &value(unsigned i) const { return inputs[i]; }
  /// The tensor at `i`, which must be there.
  Tensor in(unsigned i) const { return std::get<Tensor>(inputs[i]); }
  std::optional<Tensor> optional(unsigned i) const {
    return has(i) ? std::optional(in(i)) : std::nullopt;
  }

  /// Whether the values of an input are known at compile time.
  bool isKnown(unsigned i);
  /// The values of an input, which must be known at compile time; an error names what it is (`what`)
  /// and the model's inputs that it depends on.
  mlir::FailureOr<TensorValue> known(unsigned i, llvm::StringRef what);
  /// The same for a list of integers.
  mlir::FailureOr<llvm::SmallVector<int64_t>> ints(unsigned i, llvm::StringRef what);
  /// The same for an input with a single element. What a number has behind its point is cut off.
  mlir::FailureOr<int64_t> intScalar(unsigned i, llvm::StringRef what);
  mlir::FailureOr<double> floatScalar(unsigned i, llvm::StringRef what);
  /// The same where it is known; nothing where it is not, or is no single boolean.
  std::optional<bool> knownFlag(Tensor flag) const;
  /// A node that takes an input, an initializer, otherwise than as input `i` of the same operator; null where
  /// none does.
  onnx::NodeOp otherReader(unsigned i) const;
  /// Inputs `i` and up as tensors.
  llvm::SmallVector<Tensor> tensorsFrom(unsigned i) const;

  /// Fails with an error unless all given inputs have one element type.
  mlir::LogicalResult sameTypes(llvm::ArrayRef<unsigned> which);
  mlir::LogicalResult sameTypesOfAll();
  /// The tensors, each broadcast to the shape that they share; an error where there is none.
  mlir::FailureOr<llvm::SmallVector<Tensor>> broadcastAll(llvm::ArrayRef<Tensor> tensors);
  /// Inputs 0 and 1 broadcast to one shape, before opset 7 by the attributes `broadcast` and `axis`.
  mlir::FailureOr<llvm::SmallVector<Tensor>> broadcastPair();
  /// All inputs, which must have one element type, broadcast to one shape; two of them as a pair.
  mlir::FailureOr<llvm::SmallVector<Tensor>> broadcastInputs();
  /// `axis` counted from zero, for `rank` dimensions; an error where it is outside.
  mlir::FailureOr<int64_t> axis(int64_t axis, int64_t rank);
  /// Axes counted from zero, as they are ordered; an error for one outside or given twice.
  mlir::FailureOr<llvm::SmallVector<int64_t>> orderedAxes(llvm::ArrayRef<int64_t> axes, int64_t rank);
  /// The same, ascending.
  mlir::FailureOr<llvm::SmallVector<int64_t>> axes(llvm::ArrayRef<int64_t> axes, int64_t rank);

  // Attributes. One of another kind than asked for is an error, after which the
  // default is returned and conversion of the node fails.
  bool hasAttr(llvm::StringRef name) const;
  int64_t attr(llvm::StringRef name, int64_t otherwise);
  double attr(llvm::StringRef name, double otherwise);
  llvm::StringRef attr(llvm::StringRef name, llvm::StringRef otherwise);
  std::optional<llvm::SmallVector<int64_t>> intsAttr(llvm::StringRef name);
  /// Any attribute as it is; null where it is absent.
  mlir::Attribute rawAttr(llvm::StringRef name);
  /// A tensor attribute as a constant; an error where it is absent or of a type that
  /// nn lacks.
  mlir::FailureOr<Tensor> tensorAttr(llvm::StringRef name);
  /// The attribute as an element type that nn computes with.
  mlir::FailureOr<DataType> typeAttr(llvm::StringRef name);
  /// An attribute that no version of this operator that we convert gives a meaning.
  void ignoreAttr(llvm::StringRef name) { consulted.insert(name); }

  // Subgraphs
  bool hasBody(llvm::StringRef name) const;
  /// The subgraph of an attribute; an error where it is absent or takes or gives other numbers of values.
  mlir::FailureOr<mlir::Region *> body(llvm::StringRef name, unsigned numInputs,
                                       unsigned numOutputs);
  /// Its outputs for these arguments. It may be run any number of times.
  mlir::FailureOr<llvm::SmallVector<NodeValue>> run(mlir::Region &body,
                                                    llvm::ArrayRef<NodeValue> arguments) {
    return runBody(body, arguments);
  }

  // Outputs
  /// Whether a name is given to output `i`.
  bool wants(unsigned i) const;
  unsigned numOutputs() const { return outputs.size(); }
  void set(unsigned i, NodeValue value) {
    if (i < outputs.size())
      outputs[i] = std::move(value);
  }
  mlir::LogicalResult result(Tensor value) {
    set(0, value);
    return mlir::success();
  }

  // For the driver
  llvm::ArrayRef<NodeValue> results() const { return outputs; }
  bool hasAttributeErrors() const { return attributeErrors; }
  void warnOfUnknownAttributes();

private:
  template <typename Attr> Attr typedAttr(llvm::StringRef name, llvm::StringRef kind);

  mutable onnx::NodeOp op;
  const Operator &row;
  int64_t opsetVersion;
  llvm::ArrayRef<NodeValue> inputs;
  llvm::SmallVector<NodeValue> outputs;
  Reader readValue;
  BodyRunner runBody;
  NormStatistics *norms_;
  Dropouts *dropouts_;
  llvm::StringSet<> consulted;
  bool attributeErrors = false;
};

/// `convert` along the last dimension of the first input, whose dimensions from the attribute `axis` on
/// (1 where absent) are one: what softmax and its like meant before opset 13.
mlir::LogicalResult convertAsMatrix(Node &node,
                                    llvm::function_ref<Tensor(Emitter &, Tensor)> convert);

} // namespace spillway
