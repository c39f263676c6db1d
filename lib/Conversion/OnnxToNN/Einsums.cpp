// Einstein sums, as products of matrices.

#include "spillway/Conversion/OnnxToNN/Node.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace spillway;

namespace {

/// Dimensions are named by letters; those of an ellipsis by negative numbers, -1 for the last one.
using Label = int32_t;
using Labels = SmallVector<Label>;

/// A tensor whose dimensions have names, no two the same.
struct Operand {
  Tensor tensor;
  Labels labels;

  bool has(Label label) const { return llvm::is_contained(labels, label); }
};

/// The labels of one term of an equation, which has `rank` dimensions; nothing where it does not fit.
std::optional<Labels> parseTerm(StringRef term, int64_t rank) {
  Labels labels;
  auto letters = llvm::count_if(term, [](char c) { return c != '.'; });
  bool seen = false;
  while (!term.empty()) {
    if (term.consume_front("...")) {
      if (seen || rank < letters)
        return std::nullopt;
      seen = true;
      for (int64_t i = rank - letters; i > 0; --i)
        labels.push_back(static_cast<Label>(-i));
      continue;
    }
    if (!llvm::isAlpha(term.front()))
      return std::nullopt;
    labels.push_back(static_cast<Label>(term.front()));
    term = term.drop_front();
  }
  if (static_cast<int64_t>(labels.size()) != rank)
    return std::nullopt;
  return labels;
}

/// Elements whose indices along dimensions of one name agree; these dimensions become one.
Operand diagonal(Emitter &emit, Operand operand) {
  for (size_t i = 0; i < operand.labels.size(); ++i) {
    auto *twin = std::find(operand.labels.begin() + i + 1, operand.labels.end(), operand.labels[i]);
    if (twin == operand.labels.end())
      continue;
    // Both dimensions to the end, where the elements of the diagonal lie size + 1 apart.
    auto j = static_cast<int64_t>(twin - operand.labels.begin());
    SmallVector<int64_t> perm;
    Labels rest;
    Shape shape;
    for (int64_t d = 0; d < operand.tensor.rank(); ++d) {
      if (d == static_cast<int64_t>(i) || d == j)
        continue;
      perm.push_back(d);
      rest.push_back(operand.labels[d]);
      shape.push_back(operand.tensor.size(d));
    }
    perm.append({static_cast<int64_t>(i), j});
    rest.push_back(operand.labels[i]);
    int64_t size = operand.tensor.size(j);
    Tensor flat = emit.transpose(operand.tensor, perm);
    shape.push_back(size * size);
    flat = emit.reshape(flat, shape);
    Shape offsets(shape.size(), 0), strides(shape.size(), 1);
    shape.back() = size;
    strides.back() = size + 1;
    return diagonal(emit, {emit.slice(flat, offsets, shape, strides), rest});
  }
  return operand;
}

/// Dimensions that `keeps` refuses are summed over.
Operand summed(Emitter &emit, Operand operand, function_ref<bool(Label)> keeps) {
  SmallVector<int64_t> dims;
  Labels rest;
  for (auto [d, label] : llvm::enumerate(operand.labels))
    if (keeps(label))
      rest.push_back(label);
    else
      dims.push_back(static_cast<int64_t>(d));
  if (dims.empty())
    return operand;
  return {emit.reduce(nn::ReductionKind::sum, operand.tensor, dims, /*keep=*/false), rest};
}

/// Dimensions in the order of `labels`, those that the operand lacks left out.
Operand ordered(Emitter &emit, Operand operand, ArrayRef<Label> labels) {
  SmallVector<int64_t> perm;
  Labels order;
  for (Label label : labels)
    for (auto [d, own] : llvm::enumerate(operand.labels))
      if (own == label) {
        perm.push_back(static_cast<int64_t>(d));
        order.push_back(label);
      }
  return {emit.transpose(operand.tensor, perm), order};
}

class Einsum {
public:
  Einsum(Node &node) : node(node), emit(node.emit) {}

  LogicalResult convert() {
    std::string equation = node.attr("equation", StringRef()).str();
    llvm::erase(equation, ' ');
    auto [left, right] = StringRef(equation).split("->");
    if (failed(node.sameTypesOfAll()) || failed(readTerms(left)))
      return failure();
    bool isExplicit = StringRef(equation).contains("->");
    if (isExplicit ? failed(readResult(right)) : failed(impliedResult()))
      return failure();
    FailureOr<Operand> result = prepared(0);
    for (size_t i = 1; i < operands.size() && succeeded(result); ++i)
      result = multiply(*result, prepared(i), i);
    if (failed(result))
      return failure();
    Operand rest =
        summed(emit, *result, [&](Label label) { return llvm::is_contained(output, label); });
    return node.result(ordered(emit, rest, output).tensor);
  }

private:
  LogicalResult readTerms(StringRef left) {
    SmallVector<StringRef> terms;
    left.split(terms, ',');
    if (terms.size() != node.numInputs())
      return node.error() << "the equation has " << terms.size() << " terms for "
                          << node.numInputs() << " inputs";
    for (auto [i, term] : llvm::enumerate(terms)) {
      Tensor tensor = node.in(static_cast<unsigned>(i));
      auto labels = parseTerm(term, tensor.rank());
      if (!labels)
        return node.error() << "the term '" << term << "' does not fit " << tensor.tensorType();
      llvm::SmallDenseMap<Label, int64_t> own;
      for (auto [label, size] : llvm::zip_equal(*labels, tensor.shape())) {
        if (own.try_emplace(label, size).first->second != size)
          return node.error() << "the term '" << term << "' needs equal sizes in "
                              << tensor.tensorType();
        auto [known, isNew] = sizes.try_emplace(label, size);
        if (!isNew && known->second == 1)
          known->second = size;
        if (known->second != size && size != 1)
          return node.error() << "sizes " << known->second << " and " << size
                              << " of one dimension of the equation differ";
      }
      operands.push_back({tensor, *labels});
    }
    return success();
  }

  LogicalResult readResult(StringRef right) {
    int64_t ellipsis = llvm::count_if(sizes, [](const auto &entry) { return entry.first < 0; });
    bool hasEllipsis = right.contains("...");
    auto letters = llvm::count_if(right, [](char c) { return c != '.'; });
    auto labels = parseTerm(right, letters + (hasEllipsis ? ellipsis : 0));
    if (!labels)
      return node.error() << "the result '" << right << "' cannot be read";
    llvm::SmallDenseSet<Label> seen;
    for (Label label : *labels)
      if (!sizes.contains(label) || !seen.insert(label).second)
        return node.error() << "the result '" << right
                            << "' names a dimension twice, or one that no input has";
    output = *labels;
    return success();
  }

  /// Ellipsis first, then letters that occur once, in their order.
  LogicalResult impliedResult() {
    llvm::MapVector<Label, unsigned> occurrences;
    for (const Operand &operand : operands)
      for (Label label : operand.labels)
        ++occurrences[label];
    for (auto [label, count] : occurrences)
      if (label < 0 || count == 1)
        output.push_back(label);
    llvm::sort(output);
    return success();
  }

  bool isNeededAfter(size_t i, Label label) const {
    return llvm::is_contained(output, label) ||
           llvm::any_of(ArrayRef(operands).drop_front(i + 1),
                        [&](const Operand &operand) { return operand.has(label); });
  }

  /// The i-th operand without repeated names, every dimension of its full size, but summed over where
  /// nothing else has it.
  Operand prepared(size_t i) {
    Operand operand = diagonal(emit, operands[i]);
    Shape shape;
    for (Label label : operand.labels)
      shape.push_back(sizes.lookup(label));
    operand.tensor = emit.broadcast(operand.tensor, shape);
    bool isFirst = i == 0;
    return summed(emit, operand, [&](Label label) {
      return isNeededAfter(i, label) ||
             (!isFirst && llvm::any_of(ArrayRef(operands).take_front(i), [&](const Operand &earlier) {
                return earlier.has(label);
              }));
    });
  }

  /// The product of what operands before `i` gave and the i-th one.
  FailureOr<Operand> multiply(const Operand &lhs, const Operand &rhs, size_t i) {
    Labels batch, rows, columns, depth;
    for (Label label : lhs.labels)
      (rhs.has(label) ? (isNeededAfter(i, label) ? batch : depth) : rows).push_back(label);
    for (Label label : rhs.labels)
      if (!lhs.has(label))
        columns.push_back(label);
    Labels labels(batch);
    llvm::append_range(labels, rows);
    llvm::append_range(labels, columns);
    Shape shape;
    for (Label label : labels)
      shape.push_back(sizes.lookup(label));
    if (!elementCount(shape))
      return node.error() << "a product of its operands is too large";
    auto size = [&](ArrayRef<Label> labels) {
      int64_t product = 1;
      for (Label label : labels)
        product *= sizes.lookup(label);
      return product;
    };
    auto matrix = [&](const Operand &operand, ArrayRef<Label> first, ArrayRef<Label> second) {
      Labels order(batch);
      llvm::append_range(order, first);
      llvm::append_range(order, second);
      return emit.reshape(ordered(emit, operand, order).tensor,
                          {size(batch), size(first), size(second)});
    };
    Tensor a = matrix(lhs, rows, depth), b = matrix(rhs, depth, columns);
    Tensor product{emit.create<nn::MatmulOp>(
                       emit.typeOf(a.type, {size(batch), size(rows), size(columns)}), a.value,
                       b.value, false, false),
                   a.type};
    return Operand{emit.reshape(product, shape), labels};
  }

  Node &node;
  Emitter &emit;
  SmallVector<Operand> operands;
  llvm::MapVector<Label, int64_t> sizes;
  Labels output;
};

LogicalResult convertEinsum(Node &node) { return Einsum(node).convert(); }

} // namespace

void spillway::addEinsums(OperatorTable &table) {
  table.add({{"Einsum", 12, convertEinsum, 1, anyNumber, 1, TypeClass::numeric}});
}
