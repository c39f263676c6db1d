// Attention whose scores and probabilities subgraphs may change.

#include "lib/Conversion/OnnxToNN/Heads.h"

#include <cmath>

using namespace mlir;
using namespace spillway;

namespace {

/// What a subgraph makes of `x`; `x` where there is none.
FailureOr<Tensor> changed(Node &node, StringRef graph, Tensor x) {
  if (!node.hasBody(graph))
    return x;
  auto body = node.body(graph, 1, 1);
  if (failed(body))
    return failure();
  auto results = node.run(**body, {NodeValue(x)});
  if (failed(results))
    return failure();
  auto *y = std::get_if<Tensor>(&results->front());
  if (!y || y->shape() != x.shape() || !isFloat(y->type))
    return node.error() << "the graph " << graph << " must give floats of the shape of "
                        << x.tensorType();
  return node.emit.cast(*y, x.type);
}

/// a [b, h, m, k] times b [b, hk, k, n], or its transpose; as many heads of `a` share one of `b`.
Tensor product(Emitter &emit, Tensor a, Tensor b, bool transposed) {
  int64_t group = a.size(1) / b.size(1);
  Shape rows{a.size(0), b.size(1), group * a.size(2), a.size(3)}, shape = rows;
  shape.back() = b.size(transposed ? 2 : 3);
  Tensor y{emit.create<nn::MatmulOp>(emit.typeOf(a.type, shape), emit.reshape(a, rows).value,
                                     b.value, false, transposed),
           a.type};
  return emit.reshape(y, {a.size(0), a.size(1), a.size(2), shape.back()});
}

LogicalResult convertFlexAttention(Node &node) {
  Emitter &emit = node.emit;
  Heads heads;
  heads.query = node.in(0);
  heads.key = node.in(1);
  heads.value = node.in(2);
  if (failed(node.sameTypes({0, 1, 2})))
    return failure();
  ArrayRef<int64_t> q = heads.query.shape(), k = heads.key.shape(), v = heads.value.shape();
  if (q.size() != 4 || k.size() != 4 || v.size() != 4 || k[0] != q[0] || v[0] != q[0] ||
      k[1] != v[1] || k[2] != v[2] || q[3] != k[3] || k[1] == 0 || q[1] % k[1] != 0)
    return node.error() << "query " << heads.query.tensorType() << ", key "
                        << heads.key.tensorType() << " and value " << heads.value.tensorType()
                        << " do not fit together";
  heads.scale = node.attr("scale", 1 / std::sqrt(static_cast<double>(q[3])));
  DataType type = heads.query.type == DataType::f64 ? DataType::f64 : DataType::f32;
  if (node.hasAttr("softmax_precision")) {
    auto given = node.typeAttr("softmax_precision");
    if (failed(given))
      return failure();
    if (!isFloat(*given))
      return node.error() << "softmax_precision must be a floating-point type";
    type = *given;
  }
  if (!node.hasBody("score_mod") && !node.hasBody("prob_mod"))
    return node.result(attend(emit, heads));

  Tensor scores = product(emit, heads.query, heads.key, /*transposed=*/true);
  scores = emit.cast(emit.mul(scores, emit.like(scores, heads.scale)), type);
  auto masked = changed(node, "score_mod", scores);
  if (failed(masked))
    return failure();
  Tensor softmax{emit.create<nn::SoftmaxOp>(masked->value, 3), type};
  auto weights = changed(node, "prob_mod", softmax);
  if (failed(weights))
    return failure();
  Tensor y = product(emit, *weights, emit.cast(heads.value, type), /*transposed=*/false);
  return node.result(emit.cast(y, heads.value.type));
}

} // namespace

void spillway::addFlexAttention(OperatorTable &table) {
  table.add({
      {"FlexAttention", 1, convertFlexAttention, 3, 3, 1, TypeClass::floats,
       "without subgraphs the softmax is computed in f32 (f64 for f64)", "ai.onnx.preview"},
  });
}
