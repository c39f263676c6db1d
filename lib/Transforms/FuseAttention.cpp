#include "Masks.h"

#include "spillway/Transforms/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace spillway {
#define GEN_PASS_DEF_NNFUSEATTENTIONPASS
#include "spillway/Transforms/Passes.h.inc"
} // namespace spillway

using namespace mlir;
using namespace spillway;

namespace {

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

std::optional<double> floatSplat(Value value) {
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)) || !isa<FloatType>(splat.getElementType()))
    return std::nullopt;
  APFloat number = splat.getSplatValue<APFloat>();
  bool losesInfo;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

/// Takes `value * c`, `c * value` or `value / c` apart; returns the factor.
std::optional<double> peelScale(Value &value) {
  if (auto mul = value.getDefiningOp<arith::MulFOp>()) {
    for (auto [factor, rest] : {std::pair(mul.getRhs(), mul.getLhs()),
                                std::pair(mul.getLhs(), mul.getRhs())})
      if (std::optional<double> splat = floatSplat(factor)) {
        value = rest;
        return splat;
      }
  } else if (auto div = value.getDefiningOp<arith::DivFOp>()) {
    if (std::optional<double> splat = floatSplat(div.getRhs()); splat && *splat != 0) {
      value = div.getLhs();
      return 1 / *splat;
    }
  }
  return std::nullopt;
}

/// Takes off a transpose of the last two dimensions.
bool peelTranspose(Value &value) {
  auto transpose = value.getDefiningOp<nn::TransposeOp>();
  if (!transpose)
    return false;
  SmallVector<int64_t> swapped = llvm::to_vector(llvm::seq<int64_t>(transpose.getPerm().size()));
  std::swap(swapped[swapped.size() - 1], swapped[swapped.size() - 2]);
  if (transpose.getPerm() != ArrayRef<int64_t>(swapped))
    return false;
  value = transpose.getOperand();
  return true;
}

/// Takes off the repetition of heads that grouped-query attention writes:
/// [b, hk, x, y] to [b, hk, g, x, y] to [b, hk * g, x, y]. Gives the shape before
/// it, of rank 4, which `value` then reshapes to.
std::optional<SmallVector<int64_t>> peelRepeatedHeads(Value &value) {
  auto merge = value.getDefiningOp<nn::ReshapeOp>();
  auto repeat = merge ? merge.getOperand().getDefiningOp<nn::BroadcastOp>() : nullptr;
  if (!repeat)
    return std::nullopt;
  ArrayRef<int64_t> wide = shapeOf(repeat), merged = shapeOf(merge);
  if (wide.size() != 5 || merged.size() != 4 ||
      merged != ArrayRef<int64_t>({wide[0], wide[1] * wide[2], wide[3], wide[4]}))
    return std::nullopt;
  SmallVector<int64_t> before(5, 1);
  for (auto [size, dim] : llvm::zip_equal(shapeOf(repeat.getOperand()), repeat.getDims()))
    before[dim] = size;
  SmallVector<int64_t> onlyHeadsRepeat(wide);
  onlyHeadsRepeat[2] = 1;
  if (before != onlyHeadsRepeat)
    return std::nullopt;
  value = repeat.getOperand();
  return SmallVector<int64_t>{wide[0], wide[1], wide[3], wide[4]};
}

/// query, key or value, taken apart into the tensor and what was done to it.
struct Operand {
  Value value;
  double scale = 1;
  bool transposed = false;
  /// What `value` reshapes to, of the matmul's rank.
  SmallVector<int64_t> shape;
};

Operand peelOperand(Value value, bool transposed, bool mayRepeatHeads) {
  Operand operand{value, 1, transposed, {}};
  while (true) {
    if (std::optional<double> scale = peelScale(operand.value)) {
      operand.scale *= *scale;
      continue;
    }
    if (peelTranspose(operand.value)) {
      operand.transposed = !operand.transposed;
      continue;
    }
    operand.shape.assign(shapeOf(operand.value).begin(), shapeOf(operand.value).end());
    if (mayRepeatHeads)
      if (auto narrow = peelRepeatedHeads(operand.value))
        operand.shape = *narrow;
    return operand;
  }
}

/// select(isnan(p), 0, p): a fully masked row becomes zero.
bool peelNaNGuard(Value &probabilities) {
  auto select = probabilities.getDefiningOp<arith::SelectOp>();
  if (!select)
    return false;
  auto isNaN = select.getCondition().getDefiningOp<arith::CmpFOp>();
  std::optional<double> zero = floatSplat(select.getTrueValue());
  if (!isNaN || isNaN.getPredicate() != arith::CmpFPredicate::UNO ||
      isNaN.getLhs() != select.getFalseValue() || isNaN.getRhs() != select.getFalseValue() || !zero ||
      *zero != 0)
    return false;
  probabilities = select.getFalseValue();
  return true;
}

/// A mask as exports write it.
struct Mask {
  /// Added to the scores, where not null.
  Value additive;
  /// select(keep, scores, fill), or select(drop, fill, scores) where inverted.
  arith::SelectOp select;
  bool inverted = false;

  Value scores() { return inverted ? select.getFalseValue() : select.getTrueValue(); }
  Value fill() { return inverted ? select.getTrueValue() : select.getFalseValue(); }
};

/// Takes a select by a mask apart, where its fill makes the softmax give zero.
std::optional<Mask> peelSelect(Value &value) {
  Mask mask;
  mask.select = value.getDefiningOp<arith::SelectOp>();
  if (!mask.select || !isa<RankedTensorType>(mask.select.getCondition().getType()))
    return std::nullopt;
  mask.inverted = !floatSplat(mask.select.getFalseValue());
  std::optional<double> fill = floatSplat(mask.fill());
  if (!fill || !(*fill <= hidingFill))
    return std::nullopt;
  value = mask.scores();
  return mask;
}

/// The scores before the softmax, taken apart.
struct Scores {
  nn::MatmulOp product;
  double scale = 1;
  double softcap = 0;
  std::optional<Mask> mask;
};

/// Whether `value` leads back to a matmul through what peelScores takes off.
bool isProduct(Value value) {
  while (true) {
    if (value.getDefiningOp<nn::MatmulOp>())
      return true;
    if (peelScale(value))
      continue;
    auto tanh = value.getDefiningOp<math::TanhOp>();
    if (!tanh)
      return false;
    value = tanh.getOperand();
  }
}

FailureOr<Scores> peelScores(Value value) {
  Scores scores;
  if (auto add = value.getDefiningOp<arith::AddFOp>()) {
    bool left = isProduct(add.getLhs());
    if (left || isProduct(add.getRhs())) {
      value = left ? add.getLhs() : add.getRhs();
      scores.mask = Mask{left ? add.getRhs() : add.getLhs(), {}, false};
    }
  } else {
    scores.mask = peelSelect(value);
  }
  Value beforeCap = value;
  if (std::optional<double> cap = peelScale(beforeCap))
    if (auto tanh = beforeCap.getDefiningOp<math::TanhOp>()) {
      Value inner = tanh.getOperand();
      std::optional<double> inverse = peelScale(inner);
      if (!inverse || !(std::abs(*inverse * *cap - 1) < 1e-5))
        return failure();
      scores.softcap = *cap;
      value = inner;
    }
  while (std::optional<double> scale = peelScale(value))
    scores.scale *= *scale;
  scores.product = value.getDefiningOp<nn::MatmulOp>();
  if (!scores.product || scores.product.getTransposeLhs())
    return failure();
  return scores;
}

/// `value` with its leading dimensions made two: [h, m, d] becomes [1, h, m, d].
Value toRank4(Value value, OpBuilder &builder) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() == 4)
    return value;
  SmallVector<int64_t> shape(4 - type.getRank(), 1);
  llvm::append_range(shape, type.getShape());
  return builder.createOrFold<nn::ReshapeOp>(value.getLoc(), type.clone(shape), value);
}

/// The mask before its broadcast to the scores, as a tensor of rank 4.
Value narrowMask(Value mask, OpBuilder &builder) {
  auto broadcast = mask.getDefiningOp<nn::BroadcastOp>();
  if (!broadcast)
    return toRank4(mask, builder);
  int64_t rank = broadcast.getType().getRank();
  SmallVector<int64_t> shape(rank, 1);
  for (auto [size, dim] : llvm::zip_equal(shapeOf(broadcast.getOperand()), broadcast.getDims()))
    shape[dim] = size;
  auto type = broadcast.getType().clone(shape);
  return toRank4(
      builder.createOrFold<nn::ReshapeOp>(mask.getLoc(), type, broadcast.getOperand()), builder);
}

/// The mask as nn.attention takes it: i1 where the fill is -inf, else added.
Value buildMask(Mask mask, OpBuilder &builder) {
  if (mask.additive)
    return narrowMask(mask.additive, builder);
  Value condition = narrowMask(mask.select.getCondition(), builder);
  auto type = cast<RankedTensorType>(condition.getType());
  Location location = condition.getLoc();
  double fill = *floatSplat(mask.fill());
  if (std::isinf(fill)) {
    if (!mask.inverted)
      return condition;
    Value all = arith::ConstantOp::create(builder, location, DenseElementsAttr::get(type, true));
    return arith::XOrIOp::create(builder, location, condition, all);
  }
  auto element = cast<RankedTensorType>(mask.select.getType()).getElementType();
  auto splat = [&](double value) -> Value {
    return arith::ConstantOp::create(
        builder, location,
        DenseElementsAttr::get(type.clone(element), builder.getFloatAttr(element, value)));
  };
  Value shown = splat(0), hidden = splat(fill);
  return arith::SelectOp::create(builder, location, condition, mask.inverted ? hidden : shown,
                                 mask.inverted ? shown : hidden);
}

/// The operand as a tensor [b, h, sequence, features].
Value buildOperand(const Operand &operand, bool transpose, OpBuilder &builder) {
  Location location = operand.value.getLoc();
  auto element = cast<RankedTensorType>(operand.value.getType()).getElementType();
  Value value = builder.createOrFold<nn::ReshapeOp>(
      location, RankedTensorType::get(operand.shape, element), operand.value);
  value = toRank4(value, builder);
  if (!transpose)
    return value;
  SmallVector<int64_t> shape(shapeOf(value));
  std::swap(shape[2], shape[3]);
  return nn::TransposeOp::create(builder, location, RankedTensorType::get(shape, element), value,
                                 ArrayRef<int64_t>{0, 1, 3, 2});
}

struct FuseAttentionPattern : public OpRewritePattern<nn::MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::MatmulOp output, PatternRewriter &rewriter) const override {
    Value probabilities = output.getLhs();
    int64_t rank = output.getType().getRank();
    if ((rank != 3 && rank != 4) || output.getTransposeLhs() ||
        output.getRhs().getType().getRank() != rank)
      return failure();
    bool guarded = peelNaNGuard(probabilities);
    auto softmax = probabilities.getDefiningOp<nn::SoftmaxOp>();
    if (!softmax || static_cast<int64_t>(softmax.getDim()) != rank - 1)
      return failure();
    FailureOr<Scores> scores = peelScores(softmax.getOperand());
    if (failed(scores) || scores->product.getRhs().getType().getRank() != rank)
      return failure();

    Operand query = peelOperand(scores->product.getLhs(), /*transposed=*/false, false);
    Operand key, value;
    for (bool grouped : {true, false}) {
      key = peelOperand(scores->product.getRhs(), scores->product.getTransposeRhs(), grouped);
      value = peelOperand(output.getRhs(), output.getTransposeRhs(), grouped);
      if (key.shape[rank - 3] == value.shape[rank - 3])
        break;
    }
    if (query.transposed || value.scale != 1)
      return failure();
    double scale = scores->scale * query.scale * key.scale;
    auto narrow = [](double number) { return static_cast<float>(number); };
    bool isF64 = output.getType().getElementType().isF64();
    if (isF64 && (narrow(scale) != scale || narrow(scores->softcap) != scores->softcap))
      return rewriter.notifyMatchFailure(output, "the operation's numbers are f32");

    Value queries = buildOperand(query, false, rewriter);
    Value keys = buildOperand(key, !key.transposed, rewriter);
    Value values = buildOperand(value, value.transposed, rewriter);
    Value mask = scores->mask ? buildMask(*scores->mask, rewriter) : Value();
    auto resultType = RankedTensorType::get(
        {shapeOf(queries)[0], shapeOf(queries)[1], shapeOf(queries)[2], shapeOf(values)[3]},
        output.getType().getElementType());
    auto attention = nn::AttentionOp::create(
        rewriter, output.getLoc(), resultType, queries, keys, values, mask,
        rewriter.getF32FloatAttr(narrow(scale)),
        rewriter.getF32FloatAttr(narrow(scores->softcap)), IntegerAttr(),
        nn::MaskedRowAttr::get(getContext(), guarded ? nn::MaskedRow::zero : nn::MaskedRow::nan));
    rewriter.replaceOpWithNewOp<nn::ReshapeOp>(output, output.getType(), attention);
    return success();
  }
};

struct FuseAttention : public spillway::impl::NNFuseAttentionPassBase<FuseAttention> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseAttentionPattern>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
