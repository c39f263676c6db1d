// GPT-2- and Llama-shaped decoders in the form that exporters write: MatMul and Add for linear
// layers, heads by Reshape and Transpose, an additive causal mask.
#pragma once

#include "tools/spillway-modelgen/Model.h"

#include <cstdint>
#include <string>
#include <vector>

namespace spillway::modelgen {

enum class Architecture { gpt2, llama };
enum class Fill { normal, zeros, hole };
enum class Mask { constant, trilu };
enum class LayerNorm { op, decomposed };
enum class Gelu { erf, tanh };

struct DecoderOptions {
  Architecture architecture = Architecture::gpt2;
  int64_t layers = 2, hidden = 64, heads = 4;
  /// Heads of keys and values (Llama); 0: as many as `heads`.
  int64_t kvHeads = 0;
  int64_t vocabulary = 257;
  /// Longest sequence.
  int64_t context = 64;
  /// Width of the feed-forward layer; 0: 4 x hidden (GPT-2), 8/3 x hidden up to a multiple of 64.
  int64_t ffn = 0;
  /// Shape of the inputs where it is static; a sequence of 0 is the context.
  int64_t batch = 2, sequence = 0;
  /// Inputs are [batch, sequence] by name.
  bool dynamic = false;
  /// The head has a weight of its own instead of the embedding's transpose.
  bool untie = false;
  bool loss = false, logits = true;
  Fill fill = Fill::normal;
  Mask mask = Mask::trilu;
  LayerNorm layerNorm = LayerNorm::op;
  Gelu gelu = Gelu::erf;
  uint64_t seed = 0;

  int64_t headWidth() const { return hidden / heads; }
};

inline constexpr float decoderEpsilon = 1e-5f;
/// Labels that the loss ignores.
inline constexpr int64_t ignoredLabel = -100;

/// Fills in what 0 stands for, and refuses sizes that do not go together.
Result<DecoderOptions> completed(DecoderOptions options);

/// `options` are completed.
Model makeDecoder(const DecoderOptions &options);

/// cos or sin of position x frequency, [context, headWidth], both halves alike.
std::vector<float> rotaryTable(const DecoderOptions &options, bool sine);

} // namespace spillway::modelgen
