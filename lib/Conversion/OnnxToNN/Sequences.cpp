// Sequences of a length that is known at compile time. They leave no operation behind.

#include "spillway/Conversion/OnnxToNN/Node.h"

using namespace mlir;
using namespace spillway;

namespace {

/// Of a sequence that a tensor is cut into.
constexpr int64_t maxParts = 64 << 10;

FailureOr<ArrayRef<Tensor>> sequenceIn(Node &node, unsigned i) {
  if (const Sequence *sequence = std::get_if<Sequence>(&node.value(i)))
    return sequence->get();
  return node.error() << "input " << i << " must be a sequence";
}

/// A position inside a sequence of `size`, counted from its end where negative.
FailureOr<int64_t> positionIn(Node &node, unsigned i, int64_t size) {
  auto position = node.intScalar(i, "the position");
  if (failed(position))
    return failure();
  if (*position < -size || *position >= size)
    return node.error() << "position " << *position << " lies outside a sequence of length "
                        << size;
  return *position < 0 ? *position + size : *position;
}

LogicalResult convertSplitToSequence(Node &node) {
  Tensor x = node.in(0);
  bool keep = node.attr("keepdims", int64_t{1}) != 0;
  auto axis = node.axis(node.attr("axis", int64_t{0}), x.rank());
  if (failed(axis))
    return failure();
  int64_t size = x.size(*axis);
  SmallVector<int64_t> sizes;
  auto checkCount = [&](int64_t parts) -> LogicalResult {
    if (parts <= maxParts)
      return success();
    return node.error() << parts << " parts, at most " << maxParts << " are supported";
  };
  if (!node.has(1)) {
    if (failed(checkCount(size)))
      return failure();
    sizes.assign(size, 1);
  } else {
    keep = true;
    auto split = node.ints(1, "split");
    if (failed(split))
      return failure();
    if (node.in(1).rank() == 0) {
      int64_t chunk = split->front();
      if (chunk <= 0)
        return node.error() << "split must be positive";
      if (failed(checkCount(llvm::divideCeil(size, chunk))))
        return failure();
      for (int64_t begin = 0; begin < size; begin += chunk)
        sizes.push_back(std::min(chunk, size - begin));
    } else {
      sizes = *split;
    }
  }
  SmallVector<Tensor> parts;
  int64_t begin = 0;
  for (int64_t part : sizes) {
    if (part < 0 || part > size - begin)
      return node.error() << "the parts do not add up to the " << size << " elements of axis "
                          << *axis;
    Tensor slice = node.emit.sliceDim(x, *axis, begin, part);
    if (!keep) {
      Shape shape(slice.shape());
      shape.erase(shape.begin() + *axis);
      slice = node.emit.reshape(slice, shape);
    }
    parts.push_back(slice);
    begin += part;
  }
  if (begin != size)
    return node.error() << "the parts do not add up to the " << size << " elements of axis "
                        << *axis;
  node.set(0, Sequence(std::move(parts)));
  return success();
}

LogicalResult convertSequenceConstruct(Node &node) {
  node.set(0, Sequence(node.tensorsFrom(0)));
  return success();
}

LogicalResult convertSequenceEmpty(Node &node) {
  node.ignoreAttr("dtype");
  node.set(0, Sequence({}));
  return success();
}

LogicalResult convertSequenceAt(Node &node) {
  auto sequence = sequenceIn(node, 0);
  if (failed(sequence))
    return failure();
  auto position = positionIn(node, 1, static_cast<int64_t>(sequence->size()));
  return failed(position) ? failure() : node.result((*sequence)[*position]);
}

LogicalResult convertSequenceErase(Node &node) {
  auto sequence = sequenceIn(node, 0);
  if (failed(sequence))
    return failure();
  int64_t size = static_cast<int64_t>(sequence->size()), last = size - 1;
  if (size == 0)
    return node.error() << "the sequence is empty";
  auto position = node.has(1) ? positionIn(node, 1, size) : FailureOr<int64_t>(last);
  if (failed(position))
    return failure();
  SmallVector<Tensor> rest(*sequence);
  rest.erase(rest.begin() + *position);
  node.set(0, Sequence(std::move(rest)));
  return success();
}

LogicalResult convertSequenceInsert(Node &node) {
  auto sequence = sequenceIn(node, 0);
  if (failed(sequence))
    return failure();
  int64_t size = static_cast<int64_t>(sequence->size()), position = size;
  if (node.has(2)) {
    auto given = node.intScalar(2, "the position");
    if (failed(given))
      return failure();
    position = *given < 0 ? *given + size : *given;
  }
  if (position < 0 || position > size)
    return node.error() << "the position lies outside a sequence of length " << size;
  if (!std::holds_alternative<Tensor>(node.value(1)))
    return node.error() << "input 1 must be a tensor";
  SmallVector<Tensor> longer(*sequence);
  longer.insert(longer.begin() + position, node.in(1));
  node.set(0, Sequence(std::move(longer)));
  return success();
}

LogicalResult convertSequenceLength(Node &node) {
  auto sequence = sequenceIn(node, 0);
  if (failed(sequence))
    return failure();
  return node.result(
      node.emit.splatInt(DataType::i64, {}, static_cast<int64_t>(sequence->size())));
}

LogicalResult convertConcatFromSequence(Node &node) {
  auto sequence = sequenceIn(node, 0);
  if (failed(sequence))
    return failure();
  if (sequence->empty())
    return node.error() << "the sequence is empty";
  bool isNew = node.attr("new_axis", int64_t{0}) != 0;
  int64_t rank = sequence->front().rank() + (isNew ? 1 : 0);
  auto axis = node.axis(node.attr("axis", int64_t{0}), rank);
  if (failed(axis))
    return failure();
  SmallVector<Tensor> parts(*sequence);
  for (Tensor &part : parts) {
    Shape shape(part.shape());
    if (isNew) {
      shape.insert(shape.begin() + *axis, 1);
      part = node.emit.reshape(part, shape);
    }
    Shape expected(parts.front().shape());
    if (shape.size() == expected.size())
      shape[*axis] = expected[*axis];
    if (shape != expected || part.type != parts.front().type || part.bits != parts.front().bits)
      return node.error() << "tensors of the sequence do not fit together";
  }
  return node.result(node.emit.concat(parts, *axis));
}

/// What an optional holds; an omitted input is one that holds nothing.
LogicalResult convertOptional(Node &node) {
  node.ignoreAttr("type");
  if (node.has(0))
    node.set(0, node.value(0));
  return success();
}

LogicalResult convertOptionalGetElement(Node &node) {
  if (!node.has(0))
    return node.error() << "the optional holds nothing";
  node.set(0, node.value(0));
  return success();
}

LogicalResult convertOptionalHasElement(Node &node) {
  return node.result(node.emit.splatInt(DataType::boolean, {}, node.has(0) ? -1 : 0));
}

} // namespace

void spillway::addSequences(OperatorTable &table) {
  constexpr auto any = TypeClass::any;
  constexpr llvm::StringLiteral known = "lengths and positions must be known at compile time";
  table.add({
      {"ConcatFromSequence", 11, convertConcatFromSequence, 1, 1, 1, any, known, "", true},
      {"Optional", 15, convertOptional, 0, 1, 1, any, "", "", true},
      {"OptionalGetElement", 15, convertOptionalGetElement, 0, 1, 1, any, "", "", true},
      {"OptionalHasElement", 15, convertOptionalHasElement, 0, 1, 1, any, "", "", true},
      {"SequenceAt", 11, convertSequenceAt, 2, 2, 1, any, known, "", true},
      {"SequenceConstruct", 11, convertSequenceConstruct, 1, anyNumber},
      {"SequenceEmpty", 11, convertSequenceEmpty, 0, 0},
      {"SequenceErase", 11, convertSequenceErase, 1, 2, 1, any, known, "", true},
      {"SequenceInsert", 11, convertSequenceInsert, 2, 3, 1, any, known, "", true},
      {"SequenceLength", 11, convertSequenceLength, 1, 1, 1, any, known, "", true},
      {"SplitToSequence", 11, convertSplitToSequence, 1, 2, 1, any, known},
  });
}
