// Branches and loops. What is known at compile time decides which nodes there are: a branch that is
// not taken has none, and a loop has those of each iteration.

#include "lib/Conversion/OnnxToNN/MustBeKnown.h"
#include "spillway/Conversion/OnnxToNN/Node.h"

using namespace mlir;
using namespace spillway;

namespace {

/// Iterations of a loop, at most.
constexpr int64_t maxIterations = 4096;

/// What keeps operations that were made since `before` from being computed where they are not asked for; empty
/// where nothing does.
StringRef hazardSince(const Emitter::Effects &before, const Emitter &emit) {
  if (emit.effects().faults != before.faults)
    return "picks elements by indices, which may be out of range";
  if (emit.effects().updates != before.updates)
    return "updates the running statistics of a norm, which must stay as they are";
  return "";
}

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

/// An output of two branches where the condition is known only when the step runs.
FailureOr<NodeValue> choose(Node &node, unsigned output, Tensor condition, const NodeValue &a,
                            const NodeValue &b) {
  auto *then = std::get_if<Tensor>(&a), *otherwise = std::get_if<Tensor>(&b);
  if (!then || !otherwise || then->type != otherwise->type || then->bits != otherwise->bits ||
      then->shape() != otherwise->shape()) {
    auto error = node.error() << "the condition must be known at compile time: output " << output;
    if (then && otherwise)
      error << " is " << then->tensorType() << " in one branch and " << otherwise->tensorType()
            << " in the other";
    else
      error << " is no tensor in both branches";
    return failure();
  }
  return NodeValue(
      node.emit.select(node.emit.broadcast(condition, then->shape()), *then, *otherwise));
}

LogicalResult convertIf(Node &node) {
  Emitter &emit = node.emit;
  Tensor condition = node.in(0);
  if (condition.count() != 1)
    return node.error() << "the condition must have one element, not " << condition.count();
  auto then = node.body("then_branch", 0, node.numOutputs());
  auto otherwise = node.body("else_branch", 0, node.numOutputs());
  if (failed(then) || failed(otherwise))
    return failure();
  if (std::optional<bool> taken = node.knownFlag(condition)) {
    auto outputs = node.run(*taken ? **then : **otherwise, {});
    if (failed(outputs))
      return failure();
    for (auto [i, value] : llvm::enumerate(*outputs))
      node.set(i, value);
    return success();
  }
  // Both are computed, so neither may do more than that.
  Emitter::Effects before = emit.effects();
  std::vector<std::string> reasons;
  auto collect = [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return failure();
    reasons.push_back(diagnostic.str());
    return success();
  };
  std::optional<ScopedDiagnosticHandler> collector(std::in_place, condition.value.getContext(), collect);
  auto a = node.run(**then, {}), b = node.run(**otherwise, {});
  collector.reset();
  if (failed(a) || failed(b)) {
    auto error = node.error() << "both branches are computed, since the condition is not known at compile time";
    if (SmallVector<StringRef> names = markMustBeKnown(condition.value); !names.empty())
      error << "; it depends on the inputs '" << llvm::join(names, "', '") << "' (see --bind)";
    for (const std::string &reason : reasons)
      error.attachNote() << "a branch cannot be: " << reason;
    return failure();
  }
  if (StringRef hazard = hazardSince(before, emit); !hazard.empty())
    return node.error() << "the condition must be known at compile time: a branch " << hazard
                        << " where it is not taken";
  condition = emit.reshape(condition, {});
  for (unsigned i = 0; i < node.numOutputs(); ++i) {
    auto chosen = choose(node, i, condition, (*a)[i], (*b)[i]);
    if (failed(chosen))
      return failure();
    node.set(i, *chosen);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

/// Values of an output, one per iteration, along a new dimension.
FailureOr<Tensor> stack(Node &node, ArrayRef<NodeValue> values, int64_t dim) {
  SmallVector<Tensor> parts;
  for (const NodeValue &value : values) {
    auto *part = std::get_if<Tensor>(&value);
    if (!part)
      return node.error() << "a scan output is no tensor";
    if (!parts.empty() &&
        (part->type != parts.front().type || part->rank() + 1 != parts.front().rank()))
      return node.error() << "a scan output changes its rank or type between iterations";
    auto at = node.axis(dim, part->rank() + 1);
    if (failed(at))
      return failure();
    Shape shape(part->shape());
    shape.insert(shape.begin() + *at, 1);
    parts.push_back(node.emit.reshape(*part, shape));
    if (parts.back().shape() != parts.front().shape())
      return node.error() << "a scan output changes its shape between iterations";
  }
  auto at = node.axis(dim, parts.front().rank());
  return failed(at) ? FailureOr<Tensor>() : node.emit.join(parts, *at);
}

/// The outputs of a body that nothing reads: their shape and type are all that is asked for.
FailureOr<Tensor> emptyStack(Node &node, const NodeValue &value, int64_t dim) {
  auto stacked = stack(node, value, dim);
  auto at = failed(stacked) ? FailureOr<int64_t>() : node.axis(dim, stacked->rank());
  return failed(at) ? FailureOr<Tensor>() : node.emit.sliceDim(*stacked, *at, 0, 0);
}

/// Values that an iteration leaves where it may have been one too many.
FailureOr<SmallVector<NodeValue>> keepUnless(Node &node, Tensor active, ArrayRef<NodeValue> next,
                                             ArrayRef<NodeValue> last) {
  SmallVector<NodeValue> kept;
  for (auto [i, value] : llvm::enumerate(next)) {
    auto chosen = choose(node, i, active, value, last[i]);
    if (failed(chosen))
      return failure();
    kept.push_back(*chosen);
  }
  return kept;
}

/// Inputs: trip count, condition, what is carried. The body takes the iteration's number, the
/// condition and what is carried; it gives the condition, what is carried, and scan outputs.
LogicalResult convertLoop(Node &node) {
  Emitter &emit = node.emit;
  unsigned numCarried = node.numInputs() < 2 ? 0 : node.numInputs() - 2;
  if (node.numOutputs() < numCarried)
    return node.error() << numCarried << " values are carried, and there are only "
                        << node.numOutputs() << " outputs";
  unsigned numScans = node.numOutputs() - numCarried;
  auto body = node.body("body", numCarried + 2, numCarried + 1 + numScans);
  if (failed(body))
    return failure();
  std::optional<int64_t> trips;
  if (node.has(0)) {
    auto count = node.intScalar(0, "the trip count");
    if (failed(count))
      return failure();
    trips = std::max<int64_t>(0, *count);
  }
  bool hasCondition = node.has(1);
  Tensor condition = emit.splatInt(DataType::boolean, {}, 1);
  if (hasCondition && (!std::holds_alternative<Tensor>(node.value(1)) ||
                       node.in(1).type != DataType::boolean || node.in(1).count() != 1))
    return node.error() << "the condition must be one boolean";
  if (hasCondition)
    condition = emit.reshape(node.in(1), {});
  SmallVector<NodeValue> carried;
  for (unsigned i = 0; i < numCarried; ++i)
    carried.push_back(node.value(i + 2));
  SmallVector<SmallVector<NodeValue>> scans(numScans);

  auto runBody = [&](int64_t iteration) {
    SmallVector<NodeValue> arguments{emit.splatInt(DataType::i64, {}, iteration), condition};
    llvm::append_range(arguments, carried);
    return node.run(**body, arguments);
  };
  for (int64_t i = 0; !trips || i < *trips; ++i) {
    std::optional<bool> goesOn = hasCondition ? node.knownFlag(condition) : true;
    if (goesOn && !*goesOn)
      break;
    if (!goesOn && (!trips || numScans != 0))
      return node.error() << "the condition before iteration " << i
                          << " must be known at compile time"
                          << (trips ? ", since the loop has scan outputs" : ", or the trip count");
    if (i == maxIterations)
      return node.error() << "more than " << maxIterations << " iterations are not supported";
    Emitter::Effects before = emit.effects();
    auto outputs = runBody(i);
    if (failed(outputs))
      return failure();
    ArrayRef<NodeValue> next = ArrayRef<NodeValue>(*outputs).slice(1, numCarried);
    if (!goesOn) {
      if (StringRef hazard = hazardSince(before, emit); !hazard.empty())
        return node.error() << "the condition before iteration " << i
                            << " must be known at compile time: the body " << hazard
                            << " where it is not run";
      auto kept = keepUnless(node, condition, next, carried);
      if (failed(kept))
        return failure();
      carried = *kept;
    } else {
      carried.assign(next.begin(), next.end());
    }
    for (unsigned s = 0; s < numScans; ++s)
      scans[s].push_back((*outputs)[1 + numCarried + s]);
    if (!hasCondition)
      continue;
    auto *flag = std::get_if<Tensor>(&outputs->front());
    if (!flag || flag->type != DataType::boolean || flag->count() != 1)
      return node.error() << "the body's first output must be one boolean";
    Tensor after = emit.reshape(*flag, {});
    condition = goesOn ? after : emit.logicalAnd(condition, after);
  }

  for (unsigned i = 0; i < numCarried; ++i)
    node.set(i, carried[i]);
  SmallVector<NodeValue> shapes;
  if (numScans != 0 && scans.front().empty()) {
    auto outputs = runBody(0);
    if (failed(outputs))
      return failure();
    shapes.assign(outputs->end() - numScans, outputs->end());
  }
  for (unsigned s = 0; s < numScans; ++s) {
    auto stacked = scans[s].empty() ? emptyStack(node, shapes[s], 0) : stack(node, scans[s], 0);
    if (failed(stacked))
      return failure();
    node.set(numCarried + s, *stacked);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Scan
//===----------------------------------------------------------------------===//

/// One of the integers of an attribute that has one for each of `count` values; zero where it is
/// absent.
FailureOr<SmallVector<int64_t>> eachOf(Node &node, StringRef name, unsigned count) {
  auto given = node.intsAttr(name);
  if (given && given->size() != count)
    return node.error() << name << " must have " << count << " elements, not " << given->size();
  return given ? *given : SmallVector<int64_t>(count, 0);
}

struct ScanAttributes {
  unsigned numStates, numScans, numResults;
  SmallVector<int64_t> axes, backwards, resultAxes, resultBackwards;
};

/// Runs the body over the sequences `scans`, whose axes are `attributes.axes`; gives states and
/// results.
FailureOr<SmallVector<NodeValue>> scanOver(Node &node, Region &body, SmallVector<NodeValue> states,
                                           ArrayRef<Tensor> scans,
                                           const ScanAttributes &attributes) {
  Emitter &emit = node.emit;
  int64_t length = -1;
  SmallVector<int64_t> axes;
  for (auto [scan, axis] : llvm::zip_equal(scans, attributes.axes)) {
    auto at = node.axis(axis, scan.rank());
    if (failed(at))
      return failure();
    axes.push_back(*at);
    if (length >= 0 && scan.size(*at) != length)
      return node.error() << "the sequences have lengths " << length << " and " << scan.size(*at);
    length = scan.size(*at);
  }
  if (length > maxIterations)
    return node.error() << "more than " << maxIterations << " iterations are not supported";
  SmallVector<SmallVector<NodeValue>> results(attributes.numResults);
  auto runBody = [&](int64_t i) -> FailureOr<SmallVector<NodeValue>> {
    SmallVector<NodeValue> arguments(states);
    for (auto [scan, axis, backwards] : llvm::zip_equal(scans, axes, attributes.backwards)) {
      Shape shape(scan.shape());
      shape.erase(shape.begin() + axis);
      Tensor part =
          length == 0
              ? emit.splat(scan.type, shape, 0)
              : emit.reshape(emit.sliceDim(scan, axis, backwards ? length - 1 - i : i, 1), shape);
      arguments.push_back(part);
    }
    return node.run(body, arguments);
  };
  for (int64_t i = 0; i < std::max<int64_t>(1, length); ++i) {
    auto outputs = runBody(i);
    if (failed(outputs))
      return failure();
    if (length != 0)
      states.assign(outputs->begin(), outputs->begin() + attributes.numStates);
    for (unsigned r = 0; r < attributes.numResults; ++r)
      results[r].push_back((*outputs)[attributes.numStates + r]);
  }
  SmallVector<NodeValue> all(states);
  for (unsigned r = 0; r < attributes.numResults; ++r) {
    if (attributes.resultBackwards[r])
      std::reverse(results[r].begin(), results[r].end());
    auto stacked = length == 0 ? emptyStack(node, results[r].front(), attributes.resultAxes[r])
                               : stack(node, results[r], attributes.resultAxes[r]);
    if (failed(stacked))
      return failure();
    all.push_back(*stacked);
  }
  return all;
}

/// What Scan's versions share: the numbers of values, of `numInputs` beside the lengths.
FailureOr<ScanAttributes> readScan(Node &node, unsigned numInputs) {
  int64_t numScans = node.attr("num_scan_inputs", int64_t{0});
  if (numScans < 1 || numScans > static_cast<int64_t>(numInputs) ||
      node.numOutputs() < numInputs - numScans)
    return node.error() << "num_scan_inputs = " << numScans << " does not fit " << numInputs
                        << " inputs and " << node.numOutputs() << " outputs";
  auto scans = static_cast<unsigned>(numScans);
  return ScanAttributes{
      numInputs - scans, scans, node.numOutputs() - (numInputs - scans), {}, {}, {}, {}};
}

LogicalResult convertScan(Node &node) {
  auto attributes = readScan(node, node.numInputs());
  if (failed(attributes))
    return failure();
  ScanAttributes &scan = *attributes;
  auto axes = eachOf(node, "scan_input_axes", scan.numScans);
  auto backwards = eachOf(node, "scan_input_directions", scan.numScans);
  auto resultAxes = eachOf(node, "scan_output_axes", scan.numResults);
  auto resultBackwards = eachOf(node, "scan_output_directions", scan.numResults);
  auto body = node.body("body", node.numInputs(), node.numOutputs());
  if (failed(axes) || failed(backwards) || failed(resultAxes) || failed(resultBackwards) ||
      failed(body))
    return failure();
  scan.axes = *axes;
  scan.backwards = *backwards;
  scan.resultAxes = *resultAxes;
  scan.resultBackwards = *resultBackwards;
  SmallVector<NodeValue> states;
  for (unsigned i = 0; i < scan.numStates; ++i)
    states.push_back(node.value(i));
  auto outputs = scanOver(node, **body, states, node.tensorsFrom(scan.numStates), scan);
  if (failed(outputs))
    return failure();
  for (auto [i, value] : llvm::enumerate(*outputs))
    node.set(i, value);
  return success();
}

/// Opset 8: a batch in front of all, each of which is scanned on its own.
LogicalResult convertBatchedScan(Node &node) {
  Emitter &emit = node.emit;
  if (node.has(0))
    return node.error() << "sequence_lens (input 0) is not supported";
  if (node.numInputs() < 2)
    return node.error() << "there is nothing to scan";
  auto attributes = readScan(node, node.numInputs() - 1);
  if (failed(attributes))
    return failure();
  ScanAttributes &scan = *attributes;
  auto backwards = eachOf(node, "directions", scan.numScans);
  auto body = node.body("body", node.numInputs() - 1, node.numOutputs());
  if (failed(backwards) || failed(body))
    return failure();
  scan.axes.assign(scan.numScans, 0);
  scan.backwards = *backwards;
  scan.resultAxes.assign(scan.numResults, 0);
  scan.resultBackwards.assign(scan.numResults, 0);
  for (unsigned i = 1; i < node.numInputs(); ++i)
    if (!node.has(i))
      return node.error() << "input " << i << " is required";
  SmallVector<Tensor> inputs = node.tensorsFrom(1);
  int64_t batch = inputs.front().rank() ? inputs.front().size(0) : 0;
  for (Tensor input : inputs)
    if (batch < 1 || input.rank() < 1 || input.size(0) != batch)
      return node.error() << "the inputs must share a batch of one or more";
  SmallVector<SmallVector<NodeValue>> outputs(node.numOutputs());
  for (int64_t b = 0; b < batch; ++b) {
    auto part = [&](Tensor x) {
      return emit.reshape(emit.sliceDim(x, 0, b, 1), x.shape().drop_front());
    };
    SmallVector<NodeValue> states;
    SmallVector<Tensor> scans;
    for (auto [i, input] : llvm::enumerate(inputs))
      if (i < scan.numStates)
        states.push_back(part(input));
      else
        scans.push_back(part(input));
    auto values = scanOver(node, **body, states, scans, scan);
    if (failed(values))
      return failure();
    for (auto [i, value] : llvm::enumerate(*values))
      outputs[i].push_back(value);
  }
  for (auto [i, values] : llvm::enumerate(outputs)) {
    auto stacked = stack(node, values, 0);
    if (failed(stacked))
      return failure();
    node.set(i, *stacked);
  }
  return success();
}

} // namespace

void spillway::addControlFlow(OperatorTable &table) {
  // Inputs of these may be left out, unlike those of operators with any number of them.
  constexpr unsigned maxOptional = anyNumber - 1;
  constexpr auto any = TypeClass::any, boolean = TypeClass::boolean;
  constexpr llvm::StringLiteral unrolled =
      "the number of iterations must be known at compile time; at most 4096";
  table.add({
      {"If", 1, convertIf, 1, 1, anyNumber, boolean,
       "where the condition is not known at compile time, both branches are computed; they then "
       "give "
       "tensors of one shape and pick no elements by index, nor train norms"},
      {"Loop", 1, convertLoop, 0, maxOptional, anyNumber, any, unrolled, "", true},
      {"Scan", 8, convertBatchedScan, 0, maxOptional, anyNumber, any,
       "no sequence_lens; the length must be at most 4096"},
      {"Scan", 9, convertScan, 1, anyNumber, anyNumber, any, "the length must be at most 4096"},
  });
}
