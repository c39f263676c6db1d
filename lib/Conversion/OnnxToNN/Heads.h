// What the attention operators of all domains are made of.
#pragma once

#include "spillway/Conversion/OnnxToNN/Node.h"

namespace spillway {

/// [batch, length, heads * size] as [batch, heads, length, size].
Tensor splitHeads(Emitter &emit, Tensor x, int64_t heads);
/// The way back.
Tensor mergeHeads(Emitter &emit, Tensor x);

/// What an attention node computes. All tensors have rank 4.
struct Heads {
  /// query [b, h, m, d], key [b, hk, n, d], value [b, hk, n, e]; the cache comes first.
  Tensor query, key, value;
  /// Keys that lie before the first query.
  int64_t past = 0;
  /// What masks the scores: a boolean tensor (true keeps), and one to add. Each
  /// broadcasts to [b, h, m, n].
  std::optional<Tensor> keeps, bias;
  bool isCausal = false;
  double scale = 1, softcap = 0;

  int64_t batch() const { return query.size(0); }
  int64_t queries() const { return query.size(2); }
  int64_t keys() const { return key.size(2); }
};

/// Masks what `keeps` does not keep, beside what is masked already.
void keepOnly(Emitter &emit, Heads &heads, Tensor keeps);
/// Adds `bias` to the scores, beside what is added already.
void addBias(Emitter &emit, Heads &heads, Tensor bias);
/// The position of each query (`dim` 2) or key (`dim` 3) among the keys.
Tensor positions(Emitter &emit, const Heads &heads, int64_t dim, Shape shape);
/// [b, h, m, e]; a query that sees no key gives zeros.
Tensor attend(Emitter &emit, const Heads &heads);

/// Rotates pairs of the first 2 * half elements of the last dimension of `x`, of rank 4, by the
/// angles whose cosines and sines are [b or 1, length, half]; dimension `lengthDim` of `x` is the
/// length. Pairs are neighbours where `interleaved`, else an element of either half.
Tensor rotate(Emitter &emit, Tensor x, Tensor cosRows, Tensor sinRows, int64_t lengthDim,
              bool interleaved);

} // namespace spillway
