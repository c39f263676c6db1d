#include "test/Unit/Kernels/RandomKernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>
#include <span>

using namespace spillway::test;

namespace {

using Shape = std::vector<int64_t>;

struct Tensor {
  std::string name;
  Shape shape;
  std::string element;

  std::string type() const {
    std::string sizes;
    for (int64_t size : shape)
      sizes += fmt::format("{}x", size);
    return fmt::format("tensor<{}{}>", sizes, element);
  }
};

int64_t elements(std::span<const int64_t> shape) {
  int64_t product = 1;
  for (int64_t size : shape)
    product *= size;
  return product;
}

bool isFloat(const std::string &element) { return element.find('f') != std::string::npos; }
int bits(const std::string &element) {
  return std::stoi(element.substr(element.find_first_of("0123456789")));
}

const std::vector<std::string> floats = {"f32", "f64", "f16", "bf16"};
const std::vector<std::string> integers = {"i64", "i32", "i16", "i8"};

/// Writes the body of one kernel.
class Writer {
public:
  explicit Writer(uint64_t seed) : random(seed) {}

  RandomKernel write(const std::string &schedule, const std::string &name) {
    Tensor anchor = schedule == "map"         ? map()
                    : schedule == "row"       ? row()
                    : schedule == "gemm"      ? gemm()
                    : schedule == "conv"      ? conv()
                    : schedule == "attention" ? attention()
                    : schedule == "scan"      ? scan()
                    : schedule == "sort"      ? sort()
                                              : scatter();
    bool follows = schedule != "map" && schedule != "scatter";
    std::vector<Tensor> results = {follows ? epilogue(anchor) : anchor};
    if (schedule != "scatter" && chance(0.2))
      results.push_back(follows ? epilogue(anchor) : map());
    std::string signature, types, yields;
    for (size_t i = 0; i < arguments.size(); ++i)
      signature += fmt::format("{}{}: {}{}", i ? ", " : "", arguments[i].name, arguments[i].type(),
                               layouts[i]);
    for (const Tensor &result : results) {
      types += (types.empty() ? "" : ", ") + result.type();
      yields += (yields.empty() ? "" : ", ") + result.name;
    }
    kernel.text = fmt::format("nn.kernel @{}({}) -> ({}) attributes {{schedule = #nn.schedule<{}>, "
                              "units = 1 : i64, scratch = 0 : i64}} {{\n{}nn.yield {} : {}\n}}\n",
                              name, signature, types, schedule, body, yields, types);
    return kernel;
  }

private:
  //===--------------------------------------------------------------------===//
  // Chance
  //===--------------------------------------------------------------------===//

  // The distributions of the standard library differ between implementations.
  int64_t below(int64_t bound) { return static_cast<int64_t>(random() % bound); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool chance(double probability) {
    return static_cast<double>(random() >> 11) * 0x1p-53 < probability;
  }
  template <typename T> T pick(const std::vector<T> &choices) {
    return choices[below(static_cast<int64_t>(choices.size()))];
  }

  int64_t size(int64_t most) {
    static const std::vector<int64_t> sizes = {1,  1,  2,  3,  4,  5,  7,  8,   9,   15,  16,  16,
                                               17, 24, 31, 32, 33, 48, 64, 65,  100, 130, 257, 300};
    if (chance(0.01))
      return 0;
    int64_t chosen = pick(sizes);
    return chosen <= most ? chosen : between(1, std::max<int64_t>(1, most));
  }
  Shape shape(int64_t rank, int64_t most = 3000) {
    Shape result;
    for (int64_t i = 0; i < rank; ++i) {
      result.push_back(size(most));
      most /= std::max<int64_t>(1, result.back());
    }
    std::shuffle(result.begin(), result.end(), random);
    return result;
  }
  /// Another shape of the same number of elements.
  Shape refactored(int64_t count) {
    Shape result;
    while (count > 1 && chance(0.8)) {
      std::vector<int64_t> divisors;
      for (int64_t d = 1; d <= std::min<int64_t>(count, 300); ++d)
        if (count % d == 0)
          divisors.push_back(d);
      result.push_back(pick(divisors));
      count /= result.back();
    }
    if (count != 1 || chance(0.3))
      result.push_back(count);
    std::shuffle(result.begin(), result.end(), random);
    return result;
  }
  std::string element() {
    if (chance(0.4))
      return "f32";
    return chance(0.1) ? "i1" : pick(chance(0.5) ? floats : integers);
  }

  //===--------------------------------------------------------------------===//
  // Operations
  //===--------------------------------------------------------------------===//

  Tensor emit(Shape shape, const std::string &element, const std::string &operation) {
    Tensor result{fmt::format("%{}", next++), std::move(shape), element};
    body += fmt::format("  {} = {}\n", result.name, operation);
    tensors.push_back(result);
    return result;
  }
  Tensor argument(Shape shape, const std::string &element, RandomKernel::Range range = {},
                  const std::string &layout = "") {
    Tensor result{fmt::format("%arg{}", arguments.size()), std::move(shape), element};
    arguments.push_back(result);
    layouts.push_back(layout);
    kernel.ranges.push_back(range);
    // Indices and packed weights have users of their own.
    if (range.low == RandomKernel::Range().low && layout.empty())
      tensors.push_back(result);
    return result;
  }

  Tensor splat(const Shape &shape, const std::string &element) {
    std::string value = element == "i1"      ? (chance(0.5) ? "true" : "false")
                        : !isFloat(element) ? std::to_string(between(-5, 9))
                                            : fmt::format("{:.3f}", between(-20, 20) / 8.0);
    Tensor result{"", shape, element};
    return emit(shape, element,
                fmt::format("arith.constant dense<{}> : {}", value, result.type()));
  }

  /// A tensor of different constants, reshaped.
  Tensor table(const Shape &shape, const std::string &element) {
    int64_t count = elements(shape);
    std::vector<std::string> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(isFloat(element) ? fmt::format("{:.3f}", between(-20, 20) / 8.0)
                                        : std::to_string(between(-5, 9)));
    Tensor flat{"", {count}, element};
    flat = emit(flat.shape, element,
                fmt::format("arith.constant dense<[{}]> : {}", fmt::join(values, ", "), flat.type()));
    return reshape(flat, shape);
  }

  Tensor reshape(const Tensor &from, const Shape &shape) {
    Tensor to{"", shape, from.element};
    return emit(shape, from.element,
                fmt::format("nn.reshape {} : {} -> {}", from.name, from.type(), to.type()));
  }

  Tensor unary(const std::string &name, const Tensor &x) {
    return emit(x.shape, x.element, fmt::format("{} {} : {}", name, x.name, x.type()));
  }
  Tensor binary(const std::string &name, const Tensor &x, const Tensor &y) {
    return emit(x.shape, x.element,
                fmt::format("{} {}, {} : {}", name, x.name, y.name, x.type()));
  }

  Tensor leaf(const Shape &shape, const std::string &element) {
    if (chance(0.5)) {
      std::vector<Tensor> known;
      for (const Tensor &tensor : tensors)
        if (tensor.shape == shape && tensor.element == element)
          known.push_back(tensor);
      if (!known.empty())
        return pick(known);
    }
    if (chance(0.1))
      return splat(shape, element);
    if (chance(0.1) && element != "i1" && elements(shape) > 0 && elements(shape) < 200)
      return table(shape, element);
    if (chance(0.1) && element != "i1" && !shape.empty()) {
      Tensor result{"", shape, element};
      return emit(shape, element,
                  fmt::format("nn.iota dim {} : {}", below(static_cast<int64_t>(shape.size())),
                              result.type()));
    }
    if (chance(0.2) && element == "i32") {
      auto keyDims = static_cast<size_t>(below(static_cast<int64_t>(shape.size()) + 1));
      Tensor result{"", shape, element}, key = argument(Shape(shape.begin(), shape.begin() + keyDims), "i64");
      return emit(shape, element, fmt::format("nn.random {} : {} -> {}", key.name, key.type(), result.type()));
    }
    return argument(shape, element);
  }

  /// Operations of arith and math whose results are exact.
  Tensor elementwise(const Tensor &x, int64_t budget) {
    const std::string &element = x.element;
    auto other = [&] { return expression(x.shape, element, budget - 1); };
    if (element == "i1")
      return binary(pick<std::string>({"arith.andi", "arith.ori", "arith.xori"}), x, other());
    if (isFloat(element)) {
      if (chance(0.35))
        return unary(pick<std::string>({"arith.negf", "math.absf", "math.ceil", "math.floor",
                                        "math.roundeven", "math.round", "math.trunc", "math.sqrt"}),
                     x);
      if (chance(0.15)) {
        Tensor y = other(), z = other();
        return emit(x.shape, element,
                    fmt::format("math.fma {}, {}, {} : {}", x.name, y.name, z.name, x.type()));
      }
      return binary(pick<std::string>({"arith.addf", "arith.subf", "arith.mulf", "arith.divf",
                                       "arith.maximumf", "arith.minimumf", "arith.remf",
                                       "math.copysign"}),
                    x, other());
    }
    if (chance(0.1))
      return unary("math.absi", x);
    if (chance(0.15)) {
      Tensor count{"", x.shape, element};
      count = emit(x.shape, element,
                   fmt::format("arith.constant dense<{}> : {}", below(bits(element)), count.type()));
      return binary(pick<std::string>({"arith.shli", "arith.shrsi", "arith.shrui"}), x, count);
    }
    return binary(pick<std::string>({"arith.addi", "arith.subi", "arith.muli", "arith.divsi",
                                     "arith.divui", "arith.remsi", "arith.remui", "arith.andi",
                                     "arith.ori", "arith.xori", "arith.maxsi", "arith.minsi",
                                     "arith.maxui", "arith.minui"}),
                  x, other());
  }

  /// `x` in another element type.
  Tensor cast(const Tensor &x, const std::string &to) {
    if (x.element == to)
      return x;
    bool fromFloat = isFloat(x.element), toFloat = isFloat(to);
    bool wider = bits(to) > bits(x.element);
    std::string name;
    if (fromFloat && toFloat) {
      if (bits(to) == bits(x.element))
        return cast(cast(x, "f32"), to);
      name = wider ? "arith.extf" : "arith.truncf";
    } else if (fromFloat) {
      name = chance(0.5) ? "arith.fptosi" : "arith.fptoui";
    } else if (toFloat) {
      name = chance(0.5) ? "arith.sitofp" : "arith.uitofp";
    } else {
      name = !wider ? "arith.trunci" : chance(0.5) ? "arith.extsi" : "arith.extui";
    }
    Tensor result{"", x.shape, to};
    return emit(x.shape, to,
                fmt::format("{} {} : {} to {}", name, x.name, x.type(), result.type()));
  }

  Tensor addRows(const Shape &shape, const std::string &element, int64_t budget) {
    if (element == "i1")
      return expression(shape, element, budget - 1);
    int64_t count = between(0, 9);
    std::vector<int64_t> rows, order;
    for (int64_t i = 0; i < count; ++i) {
      rows.push_back(between(-1, shape.front() + 1));
      order.push_back(i);
    }
    std::ranges::sort(rows);
    std::shuffle(order.begin(), order.end(), random);
    auto constant = [&](const std::vector<int64_t> &values) {
      Tensor result{"", {count}, "i64"};
      return emit(result.shape, result.element,
                  fmt::format("arith.constant dense<[{}]> : {}", fmt::join(values, ", "), result.type()));
    };
    Shape added = shape;
    added.front() = count;
    Tensor data = expression(shape, element, budget - 1), updates = expression(added, element, budget - 1);
    Tensor sorted = constant(rows), places = constant(order);
    return emit(shape, element,
                fmt::format("nn.add_rows {}[{}, {}] {} : {}, {}, {}", data.name, sorted.name, places.name, updates.name,
                            data.type(), sorted.type(), updates.type()));
  }

  Tensor comparison(const Shape &shape, int64_t budget) {
    std::string of = element();
    Tensor x = expression(shape, of, budget - 1), y = expression(shape, of, budget - 1);
    std::string predicate =
        isFloat(of)
            ? pick<std::string>({"oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt",
                                 "uge", "ult", "ule", "une", "uno"})
            : pick<std::string>({"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt",
                                 "uge"});
    return emit(shape, "i1",
                fmt::format("arith.cmp{} {}, {}, {} : {}", isFloat(of) ? "f" : "i", predicate,
                            x.name, y.name, x.type()));
  }

  Tensor select(const Tensor &x, int64_t budget) {
    Tensor condition = expression(x.shape, "i1", budget - 1);
    Tensor y = expression(x.shape, x.element, budget - 1);
    return emit(x.shape, x.element,
                fmt::format("arith.select {}, {}, {} : {}, {}", condition.name, x.name, y.name,
                            condition.type(), x.type()));
  }

  /// A tensor of `shape` by an operation that moves elements.
  Tensor movement(const Shape &shape, const std::string &element, int64_t budget) {
    auto rank = static_cast<int64_t>(shape.size());
    Tensor result{"", shape, element};
    int64_t kind = below(11);
    if (kind == 0) {
      Shape from = elements(shape) > 0 ? refactored(elements(shape)) : Shape{0, 3};
      return reshape(expression(from, element, budget - 1), shape);
    }
    if (rank == 0)
      return expression(shape, element, budget - 1);
    int64_t dim = below(rank);
    switch (kind) {
    case 1: {
      Shape perm(rank), from(rank);
      for (int64_t i = 0; i < rank; ++i)
        perm[i] = i;
      std::shuffle(perm.begin(), perm.end(), random);
      for (int64_t i = 0; i < rank; ++i)
        from[perm[i]] = shape[i];
      Tensor x = expression(from, element, budget - 1);
      return emit(shape, element, fmt::format("nn.transpose {} perm [{}] : {} -> {}", x.name,
                                              fmt::join(perm, ", "), x.type(), result.type()));
    }
    case 10:
      return addRows(shape, element, budget);
    case 9: {
      if (rank < 2)
        return expression(shape, element, budget - 1);
      int64_t sliding = between(1, rank / 2), leading = rank - 2 * sliding;
      Shape from(shape.begin(), shape.begin() + leading), strides, dilations;
      for (int64_t d = leading; d < leading + sliding; ++d) {
        strides.push_back(between(1, 3));
        dilations.push_back(between(1, 2));
        int64_t places = shape[d], windows = shape[d + sliding];
        int64_t reach = places * windows == 0
                            ? 0
                            : (windows - 1) * strides.back() + (places - 1) * dilations.back() + 1;
        from.push_back(reach + (chance(0.5) ? 0 : between(0, 5)));
      }
      Tensor x = expression(from, element, budget - 1);
      return emit(shape, element,
                  fmt::format("nn.windows {} strides [{}] dilations [{}] : {} -> {}", x.name,
                              fmt::join(strides, ", "), fmt::join(dilations, ", "), x.type(),
                              result.type()));
    }
    case 2: {
      Shape from, offsets, strides;
      for (int64_t size : shape) {
        int64_t stride = chance(0.6) ? 1 : pick<int64_t>({2, 3, -1, -2});
        int64_t span = size == 0 ? 0 : (size - 1) * std::abs(stride) + 1;
        int64_t before = size == 0 || chance(0.6) ? 0 : between(0, 9);
        from.push_back(span + before + (chance(0.6) ? 0 : between(0, 9)));
        offsets.push_back(before + (stride < 0 && size > 0 ? span - 1 : 0));
        strides.push_back(stride);
      }
      Tensor x = expression(from, element, budget - 1);
      return emit(shape, element,
                  fmt::format("nn.slice {} offsets [{}] strides [{}] : {} -> {}", x.name,
                              fmt::join(offsets, ", "), fmt::join(strides, ", "), x.type(),
                              result.type()));
    }
    case 3: {
      std::string names, types;
      int64_t rest = shape[dim];
      for (int64_t parts = between(1, 3); parts > 0; --parts) {
        Shape from = shape;
        from[dim] = parts == 1 ? rest : between(0, rest);
        rest -= from[dim];
        Tensor x = expression(from, element, budget - 1);
        names += (names.empty() ? "" : ", ") + x.name;
        types += (types.empty() ? "" : ", ") + x.type();
      }
      return emit(shape, element,
                  fmt::format("nn.concat {} dim {} : ({}) -> {}", names, dim, types, result.type()));
    }
    case 4: {
      std::string mode = pick<std::string>({"constant", "reflect", "edge", "wrap"});
      Shape from, low;
      for (int64_t size : shape) {
        int64_t before = chance(0.5) ? 0 : between(-3, 5), after = chance(0.5) ? 0 : between(-3, 5);
        if (size - before - after < 1)
          before = after = 0;
        low.push_back(before);
        from.push_back(size - before - after);
      }
      Tensor x = expression(from, element, budget - 1);
      std::string value;
      if (mode == "constant") {
        Tensor fill = leaf({}, element);
        value = fmt::format(" value {} : {}", fill.name, fill.type());
      }
      return emit(shape, element,
                  fmt::format("nn.pad <{}> {}{} low [{}] : {} -> {}", mode, x.name, value,
                              fmt::join(low, ", "), x.type(), result.type()));
    }
    case 5: {
      int64_t picks = between(0, rank - dim), count = between(1, 20);
      Shape data(shape.begin(), shape.begin() + dim), indices(shape.begin() + dim,
                                                              shape.begin() + dim + picks);
      data.push_back(count);
      data.insert(data.end(), shape.begin() + dim + picks, shape.end());
      Tensor x = expression(data, element, budget - 1), i = index(indices, count);
      return emit(shape, element,
                  fmt::format("nn.gather {}[{}] dim {} : {}, {} -> {}", x.name, i.name, dim,
                              x.type(), i.type(), result.type()));
    }
    case 6: {
      Shape data = shape;
      data[dim] = between(1, 20);
      Tensor x = expression(data, element, budget - 1), i = index(shape, data[dim]);
      return emit(shape, element,
                  fmt::format("nn.gather_elements {}[{}] dim {} : {}, {} -> {}", x.name, i.name,
                              dim, x.type(), i.type(), result.type()));
    }
    case 7: {
      int64_t leading = between(0, rank), tuple = between(1, 2);
      int64_t batch = leading == 0 ? 0 : between(0, leading);
      Shape data(shape.begin(), shape.begin() + batch), indices(shape.begin(),
                                                                shape.begin() + leading);
      int64_t count = between(1, 9);
      data.insert(data.end(), tuple, count);
      data.insert(data.end(), shape.begin() + leading, shape.end());
      indices.push_back(tuple);
      Tensor x = expression(data, element, budget - 1), i = index(indices, count);
      return emit(shape, element,
                  fmt::format("nn.gather_nd {}[{}] batch_dims {} : {}, {} -> {}", x.name, i.name,
                              batch, x.type(), i.type(), result.type()));
    }
    default: {
      Shape from, dims;
      for (int64_t i = 0; i < rank; ++i) {
        if (chance(0.4))
          continue;
        dims.push_back(i);
        from.push_back(chance(0.3) ? 1 : shape[i]);
      }
      Tensor x = expression(from, element, budget - 1);
      return emit(shape, element, fmt::format("nn.broadcast {} dims [{}] : {} -> {}", x.name,
                                              fmt::join(dims, ", "), x.type(), result.type()));
    }
    }
  }

  /// Valid indices of a dimension, negative ones among them.
  Tensor index(const Shape &shape, int64_t size) {
    auto bound = static_cast<double>(size);
    return argument(shape, chance(0.5) ? "i64" : "i32", {-bound, bound - 1});
  }

  /// An exact tensor of at most about `budget` operations.
  Tensor expression(const Shape &shape, const std::string &element, int64_t budget) {
    if (budget <= 0 || elements(shape) > 20000 || chance(0.1))
      return leaf(shape, element);
    if (chance(0.4))
      return movement(shape, element, budget);
    if (element == "i1" && chance(0.5))
      return comparison(shape, budget / 2);
    if (chance(0.15))
      return cast(expression(shape, this->element(), budget - 1), element);
    Tensor x = expression(shape, element, budget - 1);
    return chance(0.15) ? select(x, budget / 3) : elementwise(x, budget / 3);
  }

  //===--------------------------------------------------------------------===//
  // Anchors
  //===--------------------------------------------------------------------===//

  Tensor elementary(const Tensor &x) {
    kernel.exact = false;
    if (chance(0.1))
      return binary(pick<std::string>({"math.powf", "math.atan2"}), x, leaf(x.shape, x.element));
    return unary("math." + pick<std::string>({"exp",  "expm1", "exp2", "log",   "log1p", "log2",
                                              "log10", "tanh", "erf",  "erfc",  "sin",   "cos",
                                              "tan",  "atan",  "asin", "acos",  "sinh",  "cosh",
                                              "asinh", "acosh", "atanh", "rsqrt"}),
                 x);
  }

  Tensor map() {
    std::string of = element();
    Tensor x = expression(shape(below(5)), of, between(1, 8));
    return isFloat(of) && chance(0.25) ? elementary(x) : x;
  }

  Tensor row() {
    std::string of = chance(0.8) ? pick(floats) : chance(0.1) ? "i1" : pick(integers);
    int64_t kind = isFloat(of) ? below(6) : 0, rank = kind < 2 ? below(5) : between(1, 4);
    bool whole = kind == 0 && chance(0.2);
    Tensor x = expression(shape(rank, whole ? 60000 : 3000), of, between(0, 5));
    if (kind < 2)
      return reduction(x, whole);
    int64_t dim = below(rank);
    if (kind < 4) {
      kernel.exact = false;
      return withAttributes(kind == 2 ? "nn.softmax" : "nn.log_softmax", x, fmt::format("dim {}", dim));
    }
    Shape rest(x.shape.begin() + dim, x.shape.end());
    Tensor scale = expression(rest, of, between(0, 2));
    std::string operands = fmt::format("scale {} : {}", scale.name, scale.type());
    if (kind == 4 && chance(0.7)) {
      Tensor bias = expression(rest, of, between(0, 2));
      operands += fmt::format(" bias {} : {}", bias.name, bias.type());
    }
    return withAttributes(kind == 4 ? "nn.layer_norm" : "nn.rms_norm", x,
                  fmt::format("{} dim {} epsilon 1.0e-5", operands, dim));
  }

  Tensor withAttributes(const std::string &name, const Tensor &x, const std::string &rest) {
    return emit(x.shape, x.element, fmt::format("{} {} {} : {}", name, x.name, rest, x.type()));
  }

  Tensor reduction(const Tensor &x, bool whole) {
    std::vector<std::string> kinds = {"max", "min"};
    if (x.element != "i1")
      kinds.insert(kinds.end(), {"sum", "prod", "sum_square", "l1"});
    if (isFloat(x.element))
      kinds.insert(kinds.end(), {"mean", "l2", "log_sum", "log_sum_exp"});
    std::string kind = pick(kinds);
    if (kind.starts_with("log"))
      kernel.exact = false;
    Shape dims, rest;
    for (size_t i = 0; i < x.shape.size(); ++i) {
      if (whole || chance(0.5))
        dims.push_back(static_cast<int64_t>(i));
      else
        rest.push_back(x.shape[i]);
    }
    Tensor result{"", rest, x.element};
    return emit(rest, x.element,
                fmt::format("nn.reduce #nn.reduction<{}> {} dims [{}] : {} -> {}", kind, x.name,
                            fmt::join(dims, ", "), x.type(), result.type()));
  }

  /// A matrix [k, n], or [n, k] if transposed, of a product's n columns: small integers times scales, of which each
  /// unit of the product reads its own, perhaps in tiles. Its last size must be that of whole bytes.
  Tensor unpacked(int64_t k, int64_t n, bool isTransposed, int64_t bits) {
    size_t readable = tensors.size();
    Shape shape = isTransposed ? Shape{n, k} : Shape{k, n}, bytes = shape;
    bytes.back() /= 8 / bits;
    int64_t dim = isTransposed ? 0 : 1;
    std::string rows = " {nn.rows = 16 : i64, nn.tiled}";
    std::string panels = fmt::format(" {{nn.layout = #nn.panels<1, width = {}>, nn.tiled}}", 16 * bits / 8);
    Tensor x = argument(bytes, "i8", {-128, 127}, isTransposed ? rows : panels);
    if (bits < 8) {
      Tensor numbers{"", shape, "i8"};
      x = emit(shape, "i8", fmt::format("nn.unpack {} bits {}{} : {} -> {}", x.name, bits, chance(0.5) ? " signed" : "",
                                        x.type(), numbers.type()));
    }
    Tensor real{"", shape, "f32"};
    real = emit(shape, "f32", fmt::format("arith.sitofp {} : {} to {}", x.name, x.type(), real.type()));
    Tensor scale = argument({n}, "f32", {}, chance(0.5) ? rows : "");
    Tensor scales = emit(shape, "f32", fmt::format("nn.broadcast {} dims [{}] : {} -> {}", scale.name, dim, scale.type(),
                                                   real.type()));
    real = emit(shape, "f32", fmt::format("arith.mulf {}, {} : {}", real.name, scales.name, real.type()));
    // What is held in tiles has no other readers.
    tensors.erase(tensors.begin() + static_cast<ptrdiff_t>(readable), tensors.end());
    return real;
  }

  /// A type that an operand of a product in `of` may be stored in.
  std::string stored(const std::string &of) {
    return of == "f32" && chance(0.4) ? pick<std::string>({"f16", "bf16"}) : of;
  }

  Tensor gemm() {
    std::string of = chance(0.5) ? "f32" : chance(0.7) ? pick(floats) : pick(integers);
    std::string to = chance(0.8) ? of : "f32";
    int64_t m = chance(0.2) ? between(250, 700) : size(140), n = size(140), k = size(300);
    Shape batch = chance(0.6) ? Shape() : shape(between(1, 2), 4);
    bool transposeLhs = chance(0.3), transposeRhs = chance(0.4), shared = batch.empty() || chance(0.5);
    bool unpacks = shared && of == "f32" && chance(0.3);
    auto bits = pick<int64_t>({2, 4, 8});
    if (unpacks)
      (transposeRhs ? k : n) *= 8 / bits;
    auto matrix = [&](bool batched, int64_t rows, int64_t columns) {
      Shape result = batched ? batch : Shape();
      result.insert(result.end(), {rows, columns});
      return result;
    };
    Tensor lhs = expression(transposeLhs ? matrix(true, k, m) : matrix(true, m, k), stored(of),
                            chance(0.6) ? 0 : between(1, 3));
    Shape rhsShape = transposeRhs ? matrix(!shared, n, k) : matrix(!shared, k, n);
    Tensor rhs;
    if (unpacks) {
      rhs = unpacked(k, n, transposeRhs, bits);
    } else if (shared && chance(0.5)) {
      int64_t dim = below(2);
      bool columns = dim == (transposeRhs ? 0 : 1);
      rhs = argument(rhsShape, stored(of), {},
                     fmt::format(" {{nn.layout = #nn.panels<{}>{}}}", dim,
                                 columns && chance(0.7) ? ", nn.tiled" : ""));
    } else {
      rhs = expression(rhsShape, stored(of), chance(0.6) ? 0 : between(1, 3));
    }
    Tensor result{"", matrix(true, m, n), to};
    return emit(result.shape, to,
                fmt::format("nn.matmul {}{}, {}{} : {}, {} -> {}", lhs.name,
                            transposeLhs ? " transpose" : "", rhs.name,
                            transposeRhs ? " transpose" : "", lhs.type(), rhs.type(),
                            result.type()));
  }

  Tensor conv() {
    std::string of = chance(0.6) ? "f32" : chance(0.7) ? pick(floats) : pick(integers);
    int64_t dims = pick<int64_t>({1, 2, 2, 2, 3}), images = between(1, 4);
    bool depthwise = chance(0.25), isTiled = !depthwise && chance(0.3);
    int64_t groups = depthwise ? between(2, 9) : chance(0.6) ? 1 : between(1, 4);
    int64_t channels = depthwise ? 1 : size(40), filters = depthwise ? between(1, 3) : size(50);
    int64_t most = dims == 1 ? 700 : dims == 2 ? 40 : 10, area = 1;
    bool isPointwise = chance(0.25);
    if (isTiled) {
      // Panels are the units of few windows and many filters.
      images = groups = 1;
      filters = between(33, 80);
      most = dims == 1 ? 60 : dims == 2 ? 8 : 4;
    }
    Shape input{images, groups * channels}, filter{groups * filters, channels},
        output{images, groups * filters};
    Shape strides, dilations, low;
    for (int64_t d = 0; d < dims; ++d) {
      int64_t windows = std::min(size(most), std::max<int64_t>(1, 3000 / area));
      area *= std::max<int64_t>(1, windows);
      int64_t kernelSize = isPointwise ? 1 : chance(0.03) ? 40 : between(1, 5);
      strides.push_back(isPointwise || chance(0.5) ? 1 : between(1, 4));
      dilations.push_back(isPointwise || chance(0.7) ? 1 : between(1, 3));
      low.push_back(isPointwise || chance(0.4) ? 0 : between(-2, 4));
      int64_t reach = (windows - 1) * strides.back() + (kernelSize - 1) * dilations.back() + 1;
      output.push_back(windows);
      filter.push_back(kernelSize);
      input.push_back(isPointwise || windows == 0
                          ? windows
                          : std::max<int64_t>(1, reach - low.back() - between(-2, 4)));
    }
    Tensor x = argument(input, stored(of));
    Tensor w;
    if (isTiled || (!depthwise && chance(0.3)))
      w = argument(filter, stored(of), {},
                   fmt::format(" {{nn.layout = #nn.panels<0>{}}}", isTiled ? ", nn.tiled" : ""));
    else
      w = expression(filter, stored(of), chance(0.6) ? 0 : between(1, 3));
    Tensor result{"", output, of};
    return emit(
        output, of,
        fmt::format("nn.conv {}, {} strides [{}] dilations [{}] low [{}] groups {} : {}, {} -> {}",
                    x.name, w.name, fmt::join(strides, ", "), fmt::join(dilations, ", "),
                    fmt::join(low, ", "), groups, x.type(), w.type(), result.type()));
  }

  Tensor attention() {
    kernel.exact = false;
    std::string of = chance(0.5) ? "f32" : pick(floats);
    int64_t keyHeads = between(1, 3), heads = keyHeads * between(1, 3), batches = between(1, 2);
    int64_t queries = size(140), keys = size(140), depth = size(33), valueDepth = size(40);
    auto operand = [&](Shape shape) { return expression(shape, stored(of), chance(0.7) ? 0 : between(1, 2)); };
    Tensor q = operand({batches, heads, queries, depth});
    Tensor k = operand({batches, keyHeads, keys, depth});
    Tensor v = operand({batches, keyHeads, keys, valueDepth});
    std::string mask;
    if (chance(0.5)) {
      Shape shape = {batches, heads, queries, keys};
      for (int64_t &size : shape)
        size = chance(0.4) ? 1 : size;
      std::string ofMask = of != "f64" && chance(0.3) ? "f32" : q.element;
      Tensor m = expression(shape, chance(0.5) ? "i1" : ofMask, chance(0.5) ? 0 : 2);
      mask = fmt::format(" mask {} : {}", m.name, m.type());
    }
    std::string attributes = chance(0.2) ? "softcap = 2.5 : f32" : "";
    if (chance(0.4))
      attributes += fmt::format("{}causal_offset = {} : i64", attributes.empty() ? "" : ", ",
                                chance(0.5) ? 0 : between(-5, keys));
    Tensor result{"", {batches, heads, queries, valueDepth}, of};
    return emit(result.shape, of,
                fmt::format("nn.attention <{}> {}, {}, {}{} scale 0.25 {{{}}} : {}, {}, {} -> {}",
                            chance(0.5) ? "nan" : "zero", q.name, k.name, v.name, mask, attributes,
                            q.type(), k.type(), v.type(), result.type()));
  }

  Tensor scan() {
    std::string of = chance(0.6) ? pick(floats) : pick(integers);
    int64_t rank = between(1, 4);
    Tensor x = expression(shape(rank), of, between(0, 5));
    return withAttributes("nn.cumsum", x,
                  fmt::format("dim {}{}{}", below(rank), chance(0.3) ? " exclusive" : "",
                              chance(0.3) ? " reverse" : ""));
  }

  Tensor sort() {
    std::string of = chance(0.6) ? pick(floats) : pick(integers);
    int64_t rank = between(1, 3), dim = below(rank);
    Tensor x = expression(shape(rank), of, between(0, 5));
    Tensor result{"", x.shape, "i64"};
    result.shape[dim] = chance(0.5) ? x.shape[dim] : between(0, x.shape[dim]);
    return emit(result.shape, "i64",
                fmt::format("nn.argsort {} dim {}{} : {} -> {}", x.name, dim,
                            chance(0.5) ? " descending" : "", x.type(), result.type()));
  }

  Tensor scatter() {
    std::string of = element();
    std::string kind = of == "i1" ? "replace"
                                  : pick<std::string>({"replace", "add", "mul", "max", "min"});
    Shape to = shape(between(1, 4)), addressed, slice, updated = shape(between(0, 2), 30);
    int64_t tuple = between(1, static_cast<int64_t>(to.size()));
    std::copy_n(to.begin(), tuple, std::back_inserter(addressed));
    std::copy(to.begin() + tuple, to.end(), std::back_inserter(slice));
    if (elements(addressed) == 0)
      updated.push_back(0);
    int64_t lowest = *std::ranges::min_element(addressed);
    Shape tuples(updated);
    tuples.push_back(tuple);
    updated.insert(updated.end(), slice.begin(), slice.end());
    Tensor data = expression(to, of, between(0, 3));
    Tensor indices = argument(tuples, chance(0.5) ? "i64" : "i32",
                              {-static_cast<double>(lowest), static_cast<double>(lowest) - 1});
    Tensor updates = expression(updated, of, between(0, 3));
    return emit(to, of,
                fmt::format("nn.scatter <{}> {} [{}] {} : {}, {}, {}", kind, data.name,
                            indices.name, updates.name, data.type(), indices.type(),
                            updates.type()));
  }

  /// What follows an anchor; only what does not magnify errors where there are some.
  Tensor epilogue(Tensor x) {
    for (int64_t steps = chance(0.4) ? 0 : between(1, 4); steps > 0; --steps) {
      auto rank = static_cast<int64_t>(x.shape.size());
      if (chance(0.3) && rank > 1) {
        Shape perm(rank), to(rank);
        for (int64_t i = 0; i < rank; ++i)
          perm[i] = i;
        std::shuffle(perm.begin(), perm.end(), random);
        for (int64_t i = 0; i < rank; ++i)
          to[i] = x.shape[perm[i]];
        Tensor result{"", to, x.element};
        x = emit(to, x.element, fmt::format("nn.transpose {} perm [{}] : {} -> {}", x.name,
                                            fmt::join(perm, ", "), x.type(), result.type()));
      } else if (chance(0.25) && elements(x.shape) > 0) {
        x = reshape(x, refactored(elements(x.shape)));
      } else if (!kernel.exact) {
        x = unary(isFloat(x.element) && chance(0.5) ? "arith.negf" : "math.absf", x);
      } else if (chance(0.2)) {
        x = cast(x, element());
      } else {
        // Other operands must not follow from the anchor at another position.
        tensors = arguments;
        for (size_t i = arguments.size(); i-- > 0;)
          if (!layouts[i].empty())
            tensors.erase(tensors.begin() + static_cast<ptrdiff_t>(i));
        x = chance(0.2) ? select(x, 2) : elementwise(x, 2);
      }
    }
    return x;
  }

  std::mt19937_64 random;
  RandomKernel kernel;
  std::string body;
  int64_t next = 0;
  std::vector<Tensor> arguments;
  std::vector<std::string> layouts;
  /// What a leaf may be.
  std::vector<Tensor> tensors;
};

} // namespace

RandomKernel spillway::test::randomKernel(const std::string &schedule, const std::string &name,
                                          uint64_t seed) {
  return Writer(seed).write(schedule, name);
}
