#include "tools/spillway-modelgen/Decoder.h"

#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <tuple>

using namespace spillway;
using namespace spillway::modelgen;

Result<DecoderOptions> modelgen::completed(DecoderOptions options) {
  bool llama = options.architecture == Architecture::llama;
  if (options.kvHeads == 0)
    options.kvHeads = options.heads;
  if (options.ffn == 0)
    options.ffn = llama ? (8 * options.hidden / 3 + 63) / 64 * 64 : 4 * options.hidden;
  if (options.sequence == 0)
    options.sequence = options.context;
  for (int64_t size :
       {options.layers, options.hidden, options.heads, options.kvHeads, options.vocabulary,
        options.context, options.ffn, options.batch, options.sequence})
    if (size < 1 || size > int64_t{1} << 31)
      return userError("sizes must be from 1 to 2^31, not {}", size);
  if (options.hidden % options.heads != 0 || options.heads % options.kvHeads != 0)
    return userError("hidden must be a multiple of heads, heads of kv-heads");
  if (options.sequence > options.context)
    return userError("the sequence must not be longer than the context");
  if (llama && options.headWidth() % 2 != 0)
    return userError("the width of a Llama head must be even, not {}", options.headWidth());
  if (!llama && options.kvHeads != options.heads)
    return userError("GPT-2 has no grouped keys and values");
  if (!options.logits && !options.loss)
    return userError("a decoder needs an output");
  return options;
}

std::vector<float> modelgen::rotaryTable(const DecoderOptions &options, bool sine) {
  int64_t width = options.headWidth();
  std::vector<float> table;
  for (int64_t position = 0; position < options.context; ++position)
    for (int64_t i = 0; i < width; ++i) {
      double frequency = std::pow(10000.0, -2.0 * (i % (width / 2)) / width);
      double angle = static_cast<double>(position) * frequency;
      table.push_back(static_cast<float>(sine ? std::sin(angle) : std::cos(angle)));
    }
  return table;
}

namespace {

template <typename T> std::string_view bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

/// Every function that adds nodes returns the name of the last one's result, which starts with
/// the given prefix.
class DecoderBuilder {
public:
  explicit DecoderBuilder(const DecoderOptions &options)
      : options(options), model("spillway-modelgen", options.fill == Fill::hole) {}

  Model build() &&;

private:
  using Name = std::string;

  Name node(std::string_view op, std::vector<Name> inputs, const Name &output,
            std::vector<WireWriter> attributes = {}) {
    model.node(op, inputs, {output}, "n_" + output, attributes);
    return output;
  }
  Name weight(const Name &name, std::vector<int64_t> dims, float deviation, float mean = 0) {
    model.initializer(Weight{name, std::move(dims), mean,
                             options.fill == Fill::normal ? deviation : 0.0f, options.seed,
                             model.weights().size()});
    return name;
  }
  Name integers(const std::vector<int64_t> &values) {
    return constant(int64, {static_cast<int64_t>(values.size())}, bytesOf(values));
  }
  Name integer(int64_t value) { return constant(int64, {}, bytesOf(std::vector{value})); }
  Name real(double value) {
    return constant(float32, {}, bytesOf(std::vector{static_cast<float>(value)}));
  }
  Name table(const Name &name, std::vector<int64_t> dims, const std::vector<float> &values) {
    model.initializer(rawTensor(name, float32, dims, bytesOf(values)));
    return name;
  }

  Name constant(ElementType type, const std::vector<int64_t> &dims, std::string_view elements);
  Name linear(const Name &x, int64_t in, int64_t out, const Name &prefix, bool bias,
              float deviation = 0.02f);
  Name layerNorm(const Name &x, const Name &prefix);
  Name rmsNorm(const Name &x, const Name &prefix);
  Name gelu(const Name &x, const Name &prefix);
  Name rotate(const Name &x, const Name &prefix);
  Name splitHeads(const Name &x, int64_t heads, const Name &prefix);
  Name repeatHeads(const Name &x, const Name &prefix);
  Name attention(Name q, Name k, Name v, const Name &prefix);
  Name gpt2Layer(const Name &x, const Name &prefix);
  Name llamaLayer(const Name &x, const Name &prefix);
  void positionsAndMask();
  void loss(const Name &logits);

  const DecoderOptions &options;
  Model model;
  /// Small constants by type, shape and bytes.
  std::map<std::tuple<int, std::vector<int64_t>, std::string>, Name> constants;
  Name positions, mask, cosine, sine;
};

} // namespace

std::string DecoderBuilder::constant(ElementType type, const std::vector<int64_t> &dims,
                                     std::string_view elements) {
  auto [entry, isNew] = constants.try_emplace({type, dims, std::string(elements)});
  if (isNew) {
    entry->second = "const_" + std::to_string(constants.size());
    model.initializer(rawTensor(entry->second, type, dims, elements));
  }
  return entry->second;
}

std::string DecoderBuilder::linear(const Name &x, int64_t in, int64_t out, const Name &prefix,
                                   bool bias, float deviation) {
  Name y = node("MatMul", {x, weight(prefix + ".weight", {in, out}, deviation)}, prefix + ".mm");
  return bias ? node("Add", {y, weight(prefix + ".bias", {out}, 0.02f)}, prefix + ".out") : y;
}

std::string DecoderBuilder::layerNorm(const Name &x, const Name &prefix) {
  Name scale = weight(prefix + ".weight", {options.hidden}, 0.02f, 1.0f);
  Name bias = weight(prefix + ".bias", {options.hidden}, 0.02f);
  if (options.layerNorm == LayerNorm::op)
    return node("LayerNormalization", {x, scale, bias}, prefix + ".out",
                {attribute("axis", int64_t{-1}), attribute("epsilon", decoderEpsilon)});
  std::vector<WireWriter> lastAxis = {attribute("axes", std::vector<int64_t>{-1}),
                                      attribute("keepdims", int64_t{1})};
  Name centred =
      node("Sub", {x, node("ReduceMean", {x}, prefix + ".mean", lastAxis)}, prefix + ".d");
  Name square = node("Pow", {centred, real(2)}, prefix + ".sq");
  Name variance = node("ReduceMean", {square}, prefix + ".var", lastAxis);
  Name shifted = node("Add", {variance, real(decoderEpsilon)}, prefix + ".ve");
  Name normal = node("Div", {centred, node("Sqrt", {shifted}, prefix + ".std")}, prefix + ".n");
  return node("Add", {node("Mul", {normal, scale}, prefix + ".ng"), bias}, prefix + ".out");
}

std::string DecoderBuilder::rmsNorm(const Name &x, const Name &prefix) {
  Name scale = weight(prefix + ".weight", {options.hidden}, 0.02f, 1.0f);
  Name square = node("Pow", {x, real(2)}, prefix + ".sq");
  Name mean =
      node("ReduceMean", {square}, prefix + ".ms",
           {attribute("axes", std::vector<int64_t>{-1}), attribute("keepdims", int64_t{1})});
  Name root =
      node("Sqrt", {node("Add", {mean, real(decoderEpsilon)}, prefix + ".e")}, prefix + ".rt");
  Name normal = node("Mul", {x, node("Reciprocal", {root}, prefix + ".rs")}, prefix + ".n");
  return node("Mul", {scale, normal}, prefix + ".out");
}

std::string DecoderBuilder::gelu(const Name &x, const Name &prefix) {
  if (options.gelu == Gelu::erf) {
    Name scaled = node("Div", {x, real(std::numbers::sqrt2)}, prefix + ".d");
    Name shifted = node("Add", {node("Erf", {scaled}, prefix + ".erf"), real(1)}, prefix + ".e1");
    return node("Mul", {node("Mul", {x, shifted}, prefix + ".xe"), real(0.5)}, prefix + ".gelu");
  }
  Name cube =
      node("Mul", {node("Pow", {x, real(3)}, prefix + ".x3"), real(0.044715)}, prefix + ".c3");
  Name inner =
      node("Mul", {node("Add", {x, cube}, prefix + ".in"), real(std::sqrt(2 / std::numbers::pi))},
           prefix + ".sc");
  Name shifted = node("Add", {node("Tanh", {inner}, prefix + ".tanh"), real(1)}, prefix + ".t1");
  return node("Mul", {node("Mul", {x, real(0.5)}, prefix + ".xh"), shifted}, prefix + ".gelu");
}

std::string DecoderBuilder::splitHeads(const Name &x, int64_t heads, const Name &prefix) {
  Name split = node("Reshape", {x, integers({0, 0, heads, options.headWidth()})}, prefix + ".rs");
  return node("Transpose", {split}, prefix + ".h",
              {attribute("perm", std::vector<int64_t>{0, 2, 1, 3})});
}

std::string DecoderBuilder::rotate(const Name &x, const Name &prefix) {
  int64_t half = options.headWidth() / 2;
  Name low = node("Slice", {x, integers({0}), integers({half}), integers({-1})}, prefix + ".lo");
  Name high =
      node("Slice",
           {x, integers({half}), integers({std::numeric_limits<int64_t>::max()}), integers({-1})},
           prefix + ".hi");
  Name turned = node("Concat", {node("Neg", {high}, prefix + ".nhi"), low}, prefix + ".rot",
                     {attribute("axis", int64_t{-1})});
  return node(
      "Add",
      {node("Mul", {x, cosine}, prefix + ".qc"), node("Mul", {turned, sine}, prefix + ".qs")},
      prefix + ".rope");
}

std::string DecoderBuilder::repeatHeads(const Name &x, const Name &prefix) {
  int64_t group = options.heads / options.kvHeads;
  if (group == 1)
    return x;
  Name wide = node("Unsqueeze", {x, integers({2})}, prefix + ".u");
  Name all = node("Expand", {wide, integers({1, 1, group, 1, 1})}, prefix + ".x");
  Name shape = node(
      "Concat",
      {integers({0}), integers({options.heads}), integers({-1}), integers({options.headWidth()})},
      prefix + ".rshape", {attribute("axis", int64_t{0})});
  return node("Reshape", {all, shape}, prefix + ".r");
}

std::string DecoderBuilder::attention(Name q, Name k, Name v, const Name &prefix) {
  Name transposed =
      node("Transpose", {k}, prefix + ".kt", {attribute("perm", std::vector<int64_t>{0, 1, 3, 2})});
  Name scores = node("Div",
                     {node("MatMul", {q, transposed}, prefix + ".qk"),
                      real(std::sqrt(static_cast<double>(options.headWidth())))},
                     prefix + ".scaled");
  Name shares = node("Softmax", {node("Add", {scores, mask}, prefix + ".masked")},
                     prefix + ".probs", {attribute("axis", int64_t{-1})});
  Name mixed = node("Transpose", {node("MatMul", {shares, v}, prefix + ".av")}, prefix + ".avt",
                    {attribute("perm", std::vector<int64_t>{0, 2, 1, 3})});
  return node("Reshape", {mixed, integers({0, 0, options.hidden})}, prefix + ".o");
}

/// Of the projections that are added to the residual stream.
static float residualDeviation(const DecoderOptions &options) {
  return 0.02f / std::sqrt(2.0f * static_cast<float>(options.layers));
}

std::string DecoderBuilder::gpt2Layer(const Name &x, const Name &prefix) {
  int64_t width = options.hidden;
  Name qkv =
      linear(layerNorm(x, prefix + ".ln_1"), width, 3 * width, prefix + ".attn.c_attn", true);
  model.node("Split", {qkv, integers({width, width, width})},
             {prefix + ".q", prefix + ".k", prefix + ".v"}, "n_" + prefix + ".split",
             {attribute("axis", int64_t{-1})});
  Name mixed = attention(splitHeads(prefix + ".q", options.heads, prefix + ".q"),
                         splitHeads(prefix + ".k", options.heads, prefix + ".k"),
                         splitHeads(prefix + ".v", options.heads, prefix + ".v"), prefix);
  Name projected =
      linear(mixed, width, width, prefix + ".attn.c_proj", true, residualDeviation(options));
  Name middle = node("Add", {x, projected}, prefix + ".res1");
  Name up =
      linear(layerNorm(middle, prefix + ".ln_2"), width, options.ffn, prefix + ".mlp.c_fc", true);
  Name down = linear(gelu(up, prefix + ".mlp"), options.ffn, width, prefix + ".mlp.c_proj", true,
                     residualDeviation(options));
  return node("Add", {middle, down}, prefix + ".res2");
}

std::string DecoderBuilder::llamaLayer(const Name &x, const Name &prefix) {
  int64_t width = options.hidden, kvWidth = options.kvHeads * options.headWidth();
  Name y = rmsNorm(x, prefix + ".input_norm");
  Name q =
      splitHeads(linear(y, width, width, prefix + ".q_proj", false), options.heads, prefix + ".q");
  Name k = splitHeads(linear(y, width, kvWidth, prefix + ".k_proj", false), options.kvHeads,
                      prefix + ".k");
  Name v = splitHeads(linear(y, width, kvWidth, prefix + ".v_proj", false), options.kvHeads,
                      prefix + ".v");
  q = rotate(q, prefix + ".q");
  k = rotate(k, prefix + ".k");
  Name mixed = attention(q, repeatHeads(k, prefix + ".k"), repeatHeads(v, prefix + ".v"), prefix);
  Name projected =
      linear(mixed, width, width, prefix + ".o_proj", false, residualDeviation(options));
  Name middle = node("Add", {x, projected}, prefix + ".res1");
  y = rmsNorm(middle, prefix + ".post_norm");
  Name gate = linear(y, width, options.ffn, prefix + ".gate_proj", false);
  Name up = linear(y, width, options.ffn, prefix + ".up_proj", false);
  Name silu = node("Mul", {gate, node("Sigmoid", {gate}, prefix + ".sig")}, prefix + ".silu");
  Name down = linear(node("Mul", {silu, up}, prefix + ".gu"), options.ffn, width,
                     prefix + ".down_proj", false, residualDeviation(options));
  return node("Add", {middle, down}, prefix + ".res2");
}

void DecoderBuilder::positionsAndMask() {
  const float lowest = std::numeric_limits<float>::lowest();
  bool fromShape = options.dynamic || options.mask == Mask::trilu;
  Name square;
  if (fromShape) {
    Name shape = node("Shape", {"input_ids"}, "ids_shape");
    Name length =
        node("Slice", {shape, integers({1}), integers({2}), integers({0})}, "sequence_1d");
    Name scalar = node("Squeeze", {length, integers({0})}, "sequence");
    positions = node("Range", {integer(0), scalar, integer(1)}, "positions");
    square = node("Concat", {length, length}, "square", {attribute("axis", int64_t{0})});
  } else {
    std::vector<int64_t> places(options.sequence);
    for (int64_t i = 0; i < options.sequence; ++i)
      places[i] = i;
    model.initializer(rawTensor("positions", int64, {options.sequence}, bytesOf(places)));
    positions = "positions";
    square = integers({options.sequence, options.sequence});
  }
  if (options.mask == Mask::trilu) {
    Name full =
        node("ConstantOfShape", {square}, "mask_full",
             {tensorAttribute("value", rawTensor("", float32, {1}, bytesOf(std::vector{lowest})))});
    mask = node("Trilu", {full, integer(1)}, "mask", {attribute("upper", int64_t{1})});
    return;
  }
  int64_t size = options.context;
  std::vector<float> values(size * size);
  for (int64_t row = 0; row < size; ++row)
    for (int64_t column = row + 1; column < size; ++column)
      values[row * size + column] = lowest;
  mask =
      node("Slice",
           {table("mask_full", {size, size}, values), integers({0, 0}), square, integers({0, 1})},
           "mask");
}

void DecoderBuilder::loss(const Name &logits) {
  Name flat = node("Reshape", {logits, integers({-1, options.vocabulary})}, "flat_logits");
  Name labels = node("Reshape", {"labels", integers({-1})}, "flat_labels");
  node("SoftmaxCrossEntropyLoss", {flat, labels}, "loss",
       {attribute("ignore_index", ignoredLabel), attribute("reduction", "mean")});
}

Model DecoderBuilder::build() && {
  bool llama = options.architecture == Architecture::llama;
  positionsAndMask();
  Name embedding = weight("wte.weight", {options.vocabulary, options.hidden}, 0.02f);
  Name x = node("Gather", {embedding, "input_ids"}, "tokens", {attribute("axis", int64_t{0})});
  if (llama) {
    std::vector<int64_t> dims = {options.context, options.headWidth()};
    cosine =
        node("Gather", {table("rope.cos", dims, rotaryTable(options, false)), positions}, "cos");
    sine = node("Gather", {table("rope.sin", dims, rotaryTable(options, true)), positions}, "sin");
  } else {
    Name places = weight("wpe.weight", {options.context, options.hidden}, 0.01f);
    x = node("Add", {x, node("Gather", {places, positions}, "wpe.out")}, "embedded");
  }
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    Name prefix = "h." + std::to_string(layer);
    x = llama ? llamaLayer(x, prefix) : gpt2Layer(x, prefix);
  }
  x = llama ? rmsNorm(x, "norm") : layerNorm(x, "ln_f");
  Name head = options.untie ? weight("lm_head.weight", {options.hidden, options.vocabulary}, 0.02f)
                            : node("Transpose", {embedding}, "wte.transposed",
                                   {attribute("perm", std::vector<int64_t>{1, 0})});
  Name logits = node("MatMul", {x, head}, "logits");

  std::vector<Dimension> dims = {options.batch, options.sequence};
  if (options.dynamic)
    dims = {"batch", "sequence"};
  model.input(valueInfo("input_ids", int64, dims));
  if (options.logits) {
    std::vector<Dimension> shape = dims;
    shape.emplace_back(options.vocabulary);
    model.output(valueInfo(logits, float32, shape));
  }
  if (options.loss) {
    loss(logits);
    model.input(valueInfo("labels", int64, dims));
    model.output(valueInfo("loss", float32, std::vector<Dimension>{}));
  }
  return std::move(model);
}

Model modelgen::makeDecoder(const DecoderOptions &options) {
  return DecoderBuilder(options).build();
}
