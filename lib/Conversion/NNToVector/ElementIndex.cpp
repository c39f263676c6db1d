#include "spillway/Conversion/NNToVector/ElementIndex.h"

#include "spillway/Conversion/NNToVector/KernelBuilder.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;
using namespace spillway::kernels;

template <typename Make>
Value IndexMath::once(Kind kind, Value lhs, Value rhs, int64_t constant, Make make) {
  Key key{static_cast<int>(kind), lhs.getAsOpaquePointer(), rhs.getAsOpaquePointer(), constant};
  for (IndexMath *scope = this; scope; scope = scope->outer_)
    if (Value known = scope->values_.lookup(key))
      return known;
  Value made = make();
  values_[key] = made;
  return made;
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

IndexFacts IndexMath::facts(const ScalarIndex &index) const {
  if (!index.value)
    return {index.constant == 0 ? 1 : std::abs(index.constant), index.constant + 1};
  IndexFacts facts = kernel_.facts(index.value);
  if (index.constant == 0)
    return facts;
  bool bounded = facts.bound < std::numeric_limits<int64_t>::max() - std::abs(index.constant);
  return {std::gcd(facts.divisor, index.constant),
          bounded ? facts.bound + index.constant : std::numeric_limits<int64_t>::max()};
}

Value IndexMath::value(const ScalarIndex &index) {
  if (index.value && index.constant == 0)
    return index.value;
  return once(Kind::sum, index.value, {}, index.constant, [&] {
    Value constant = kernel_.constantIndex(index.constant);
    if (!index.value)
      return constant;
    Value sum = arith::AddIOp::create(kernel_.builder(), index.value, constant);
    kernel_.setFacts(sum, facts(index));
    return sum;
  });
}

ScalarIndex IndexMath::addScalar(const ScalarIndex &lhs, const ScalarIndex &rhs) {
  int64_t constant = lhs.constant + rhs.constant;
  if (!lhs.value || !rhs.value)
    return {lhs.value ? lhs.value : rhs.value, constant};
  Value sum = once(Kind::sum, lhs.value, rhs.value, 0, [&]() -> Value {
    Value sum = arith::AddIOp::create(kernel_.builder(), lhs.value, rhs.value);
    IndexFacts a = kernel_.facts(lhs.value), b = kernel_.facts(rhs.value);
    int64_t bound;
    if (__builtin_add_overflow(a.bound, b.bound - 1, &bound))
      bound = std::numeric_limits<int64_t>::max();
    kernel_.setFacts(sum, {std::gcd(a.divisor, b.divisor), bound,
                           a.mayBeNegative || b.mayBeNegative});
    return sum;
  });
  return {sum, constant};
}

ScalarIndex IndexMath::multiplyScalar(const ScalarIndex &lhs, int64_t rhs) {
  if (rhs == 0)
    return {};
  if (!lhs.value || rhs == 1)
    return {lhs.value, lhs.constant * rhs};
  Value product = once(Kind::product, lhs.value, {}, rhs, [&]() -> Value {
    Value product = arith::MulIOp::create(kernel_.builder(), lhs.value, kernel_.constantIndex(rhs));
    IndexFacts known = kernel_.facts(lhs.value);
    IndexFacts result;
    if (__builtin_mul_overflow(known.divisor, std::abs(rhs), &result.divisor))
      result.divisor = std::abs(rhs);
    result.mayBeNegative = known.mayBeNegative || rhs < 0;
    if (rhs < 0)
      result.bound = known.mayBeNegative ? result.bound : 1;
    else if (__builtin_mul_overflow(known.bound - 1, rhs, &result.bound))
      result.bound = std::numeric_limits<int64_t>::max();
    else
      ++result.bound;
    kernel_.setFacts(product, result);
    return product;
  });
  return {product, lhs.constant * rhs};
}

ScalarIndex IndexMath::nonNegative(const ScalarIndex &index) {
  if (!index.value || !kernel_.facts(index.value).mayBeNegative)
    return index;
  return {value(index), 0};
}

ScalarIndex IndexMath::divideScalar(const ScalarIndex &unknown, int64_t by) {
  if (by == 1)
    return unknown;
  ScalarIndex index = nonNegative(unknown);
  if (!index.value)
    return {{}, index.constant / by};
  if (facts(index).bound <= by)
    return {};
  if (index.constant != 0 &&
      (index.constant % by == 0 || kernel_.facts(index.value).divisor % by == 0)) {
    ScalarIndex quotient = divideScalar({index.value, 0}, by);
    quotient.constant += llvm::divideFloorSigned(index.constant, by);
    return quotient;
  }
  // (x * multiple of by) / by
  if (auto product = index.value.getDefiningOp<arith::MulIOp>(); product && index.constant == 0)
    if (APInt factor;
        matchPattern(product.getRhs(), m_ConstantInt(&factor)) && factor.getSExtValue() % by == 0)
      return multiplyScalar({product.getLhs(), 0}, factor.getSExtValue() / by);
  Value dividend = value(index);
  Value quotient = once(Kind::quotient, dividend, {}, by, [&]() -> Value {
    Value quotient = arith::DivUIOp::create(kernel_.builder(), dividend, kernel_.constantIndex(by));
    IndexFacts known = kernel_.facts(dividend);
    kernel_.setFacts(
        quotient, {known.divisor % by == 0 ? known.divisor / by : 1, (known.bound - 1) / by + 1});
    return quotient;
  });
  return {quotient, 0};
}

ScalarIndex IndexMath::remainderScalar(const ScalarIndex &unknown, int64_t by) {
  ScalarIndex index = nonNegative(unknown);
  IndexFacts known = facts(index);
  if (by == 1)
    return {};
  if (!index.value || kernel_.facts(index.value).divisor % by == 0)
    return {{}, index.constant - llvm::divideFloorSigned(index.constant, by) * by};
  if (known.bound <= by)
    return index;
  if (index.constant != 0 && index.constant % by == 0)
    return remainderScalar({index.value, 0}, by);
  Value dividend = value(index);
  Value remainder = once(Kind::remainder, dividend, {}, by, [&]() -> Value {
    Value remainder =
        arith::RemUIOp::create(kernel_.builder(), dividend, kernel_.constantIndex(by));
    kernel_.setFacts(remainder, {std::gcd(kernel_.facts(dividend).divisor, by), by});
    return remainder;
  });
  return {remainder, 0};
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

Value IndexMath::laneConstant(function_ref<int64_t(int64_t)> value) {
  SmallVector<int64_t> values;
  for (int64_t lane = 0; lane < lanes_; ++lane)
    values.push_back(value(lane));
  auto type = VectorType::get({lanes_}, kernel_.builder().getIndexType());
  return arith::ConstantOp::create(
      kernel_.builder(),
      DenseElementsAttr::get(cast<ShapedType>(type),
                             llvm::map_to_vector(values, [](int64_t v) { return APInt(64, v); })));
}

Value IndexMath::constantLike(Type type, int64_t value) {
  Attribute attr = kernel_.builder().getIndexAttr(value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, attr);
  return arith::ConstantOp::create(kernel_.builder(), cast<TypedAttr>(attr));
}

Value IndexMath::offsets(const LaneIndex &index) {
  if (index.offsets)
    return index.offsets;
  return once(Kind::laneOffsets, {}, {}, index.stride,
              [&] { return laneConstant([&](int64_t lane) { return lane * index.stride; }); });
}

Value IndexMath::positions(const LaneIndex &unresolved) {
  LaneIndex index = resolve(unresolved);
  if (lanes_ == 1 || (!index.offsets && index.stride == 0))
    return value(index.base);
  Value lanes = offsets(index);
  if (index.base == ScalarIndex())
    return lanes;
  Value base = value(index.base);
  Value spread = once(Kind::splat, base, {}, 0, [&]() -> Value {
    return vector::BroadcastOp::create(kernel_.builder(), lanes.getType(), base);
  });
  return once(Kind::sum, spread, lanes, 0,
              [&]() -> Value { return arith::AddIOp::create(kernel_.builder(), spread, lanes); });
}

bool IndexMath::isUniform(ArrayRef<LaneIndex> index) {
  if (lanes_ == 1)
    return true;
  for (size_t d = 0; d < index.size(); ++d) {
    const LaneIndex &position = index[d];
    if (position.split && position.part == 0) {
      // All parts of a split are uniform exactly where the whole is.
      size_t parts = position.split->sizes.size(), next = d;
      while (next < index.size() && next - d < parts && index[next].split == position.split &&
             index[next].part == next - d)
        ++next;
      if (next - d == parts) {
        if (!isUniform(position.split->linear))
          return false;
        d = next - 1;
        continue;
      }
    }
    LaneIndex known = resolve(position);
    if (known.offsets || known.stride != 0)
      return false;
  }
  return true;
}

LaneIndex IndexMath::resolve(const LaneIndex &index) {
  return index.split ? splitRange(*index.split, index.part, index.part) : index;
}

LaneIndex IndexMath::splitRange(const IndexSplit &split, unsigned first, unsigned last) {
  int64_t inner = 1, range = 1;
  for (size_t i = last + 1; i < split.sizes.size(); ++i)
    inner *= split.sizes[i];
  for (size_t i = first; i <= last; ++i)
    range *= split.sizes[i];
  LaneIndex quotient = divide(split.linear, inner);
  return first == 0 ? quotient : remainder(quotient, range);
}

LaneIndex IndexMath::add(const LaneIndex &lhs, int64_t rhs) {
  LaneIndex sum = resolve(lhs);
  sum.base.constant += rhs;
  return sum;
}

LaneIndex IndexMath::add(const LaneIndex &unresolvedLhs, const LaneIndex &unresolvedRhs) {
  LaneIndex lhs = resolve(unresolvedLhs), rhs = resolve(unresolvedRhs), sum;
  sum.base = addScalar(lhs.base, rhs.base);
  if (!lhs.offsets && !rhs.offsets) {
    sum.stride = lhs.stride + rhs.stride;
    return sum;
  }
  if (!lhs.offsets && lhs.stride == 0)
    sum.offsets = rhs.offsets;
  else if (!rhs.offsets && rhs.stride == 0)
    sum.offsets = lhs.offsets;
  else {
    Value a = offsets(lhs), b = offsets(rhs);
    sum.offsets = once(Kind::sum, a, b, 0,
                       [&]() -> Value { return arith::AddIOp::create(kernel_.builder(), a, b); });
  }
  return sum;
}

LaneIndex IndexMath::multiply(const LaneIndex &unresolved, int64_t rhs) {
  LaneIndex lhs = resolve(unresolved), product;
  if (rhs == 1)
    return lhs;
  product.base = multiplyScalar(lhs.base, rhs);
  product.stride = lhs.stride * rhs;
  if (lhs.offsets && rhs != 0)
    product.offsets = once(Kind::product, lhs.offsets, {}, rhs, [&]() -> Value {
      return arith::MulIOp::create(kernel_.builder(), lhs.offsets,
                                   constantLike(lhs.offsets.getType(), rhs));
    });
  return product;
}

LaneIndex IndexMath::divide(const LaneIndex &index, int64_t by) {
  LaneIndex known = resolve(index);
  return by == 1 ? known : divideLanes(known, by).first;
}

LaneIndex IndexMath::remainder(const LaneIndex &index, int64_t by) {
  return by == 1 ? LaneIndex() : divideLanes(resolve(index), by).second;
}

bool IndexMath::staysInBlock(const ScalarIndex &base, int64_t span, int64_t by) const {
  IndexFacts known = facts(base);
  if (known.bound < std::numeric_limits<int64_t>::max()) {
    int64_t last = (known.bound - 1) / known.divisor * known.divisor;
    if (last + span < by)
      return true;
  }
  int64_t block = base.value ? std::gcd(kernel_.facts(base.value).divisor, by) : by;
  return base.constant - llvm::divideFloorSigned(base.constant, block) * block + span < block;
}

std::pair<LaneIndex, LaneIndex> IndexMath::divideLanes(const LaneIndex &index, int64_t by) {
  ImplicitLocOpBuilder &b = kernel_.builder();
  LaneIndex quotient, remainder;
  if (!index.offsets && (index.stride == 0 || lanes_ == 1)) {
    quotient.base = divideScalar(index.base, by);
    remainder.base = remainderScalar(index.base, by);
    return {quotient, remainder};
  }

  auto vectorDivision = [&](Value dividend) {
    quotient.offsets = once(Kind::quotient, dividend, {}, by, [&]() -> Value {
      return arith::DivUIOp::create(b, dividend, constantLike(dividend.getType(), by));
    });
    remainder.offsets = once(Kind::remainder, dividend, {}, by, [&]() -> Value {
      return arith::RemUIOp::create(b, dividend, constantLike(dividend.getType(), by));
    });
  };
  if (index.offsets || index.stride < 0) {
    vectorDivision(positions(index));
    return {quotient, remainder};
  }

  int64_t span = index.stride * (active_ - 1);
  if (staysInBlock(index.base, span, by)) {
    quotient.base = divideScalar(index.base, by);
    remainder.base = remainderScalar(index.base, by);
    remainder.stride = index.stride;
    return {quotient, remainder};
  }
  quotient.base = divideScalar(index.base, by);
  ScalarIndex first = remainderScalar(index.base, by);
  if (!first.value && first.constant == 0) {
    // Each block of lanes begins at a multiple: the pattern is a constant.
    Value distance = offsets(index);
    quotient.offsets = once(Kind::quotient, distance, {}, by, [&] {
      return laneConstant([&](int64_t lane) { return lane * index.stride / by; });
    });
    remainder.offsets = once(Kind::remainder, distance, {}, by, [&] {
      return laneConstant([&](int64_t lane) { return lane * index.stride % by; });
    });
    return {quotient, remainder};
  }
  LaneIndex shifted;
  shifted.base = first;
  shifted.stride = index.stride;
  Value distance = positions(shifted);
  if (span >= by) {
    vectorDivision(distance);
    return {quotient, remainder};
  }
  // At most one multiple lies between the lanes.
  Type type = distance.getType();
  auto wraps = [&]() -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::uge, distance, constantLike(type, by));
  };
  quotient.offsets = once(Kind::quotient, distance, {}, by, [&]() -> Value {
    return arith::SelectOp::create(b, wraps(), constantLike(type, 1), constantLike(type, 0));
  });
  remainder.offsets = once(Kind::remainder, distance, {}, by, [&]() -> Value {
    return arith::SelectOp::create(
        b, wraps(), arith::SubIOp::create(b, distance, constantLike(type, by)), distance);
  });
  return {quotient, remainder};
}

LaneIndex IndexMath::linearize(ArrayRef<LaneIndex> index, ArrayRef<int64_t> shape) {
  LaneIndex linear;
  int64_t stride = 1;
  for (size_t end = shape.size(); end > 0;) {
    size_t d = end - 1;
    if (shape[d] == 1) {
      end = d;
      continue;
    }
    LaneIndex part = index[d];
    int64_t size = shape[d];
    if (part.split && part.split->sizes[part.part] == size) {
      // Neighbouring parts of one split join again.
      const IndexSplit *split = part.split;
      unsigned last = part.part, first = last;
      while (d > 0 && first > 0) {
        size_t before = d - 1;
        if (shape[before] == 1) {
          d = before;
          continue;
        }
        if (index[before].split != split || index[before].part != first - 1 ||
            split->sizes[first - 1] != shape[before])
          break;
        size *= shape[before];
        --first;
        d = before;
      }
      part = splitRange(*split, first, last);
    }
    linear = add(linear, multiply(part, stride));
    stride *= size;
    end = d;
  }
  return linear;
}

ElementIndex IndexMath::delinearize(const LaneIndex &linear, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> sizes;
  llvm::copy_if(shape, std::back_inserter(sizes), [](int64_t size) { return size != 1; });
  ElementIndex index(shape.size());
  if (sizes.empty())
    return index;
  LaneIndex whole = resolve(linear);
  const IndexSplit *split = sizes.size() > 1 ? kernel_.split(whole, sizes) : nullptr;
  unsigned part = 0;
  for (auto [d, size] : llvm::enumerate(shape)) {
    if (size == 1)
      continue;
    if (!split) {
      index[d] = whole;
      continue;
    }
    index[d].split = split;
    index[d].part = part++;
  }
  return index;
}

ElementIndex IndexMath::reshape(ArrayRef<LaneIndex> index, ArrayRef<int64_t> from,
                                ArrayRef<int64_t> to) {
  // Leading and trailing dimensions that stay keep their index.
  ElementIndex leading, trailing;
  while (!from.empty() && !to.empty() && from.front() == to.front()) {
    leading.push_back(index.front());
    index = index.drop_front();
    from = from.drop_front();
    to = to.drop_front();
  }
  while (!from.empty() && !to.empty() && from.back() == to.back()) {
    trailing.push_back(index.back());
    index = index.drop_back();
    from = from.drop_back();
    to = to.drop_back();
  }
  llvm::append_range(leading, delinearize(linearize(index, from), to));
  llvm::append_range(leading, llvm::reverse(trailing));
  return leading;
}
