#include "tools/spillway-modelgen/DecoderReference.h"

#include "runtime/base/OutputFile.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <unordered_map>

using namespace spillway;
using namespace spillway::modelgen;

namespace {

/// Rows of equal width.
struct Matrix {
  int64_t rows, columns;
  std::vector<double> values;

  Matrix(int64_t rows, int64_t columns) : rows(rows), columns(columns), values(rows * columns) {}
  double &at(int64_t row, int64_t column) { return values[row * columns + column]; }
  double at(int64_t row, int64_t column) const { return values[row * columns + column]; }
};

class Reference {
public:
  Reference(const DecoderOptions &options, const Model &model, int64_t batch, int64_t sequence)
      : options(options), batch(batch), sequence(sequence) {
    for (const Weight &weight : model.weights())
      weights.emplace(weight.name, &weight);
  }

  /// Logits of every token, [batch * sequence, vocabulary].
  Matrix logits(const std::vector<int64_t> &ids) const;

private:
  Matrix load(const std::string &name) const;
  Matrix linear(const Matrix &x, const std::string &name, bool bias) const;
  Matrix norm(const Matrix &x, const std::string &name) const;
  void rotate(Matrix &x, int64_t heads) const;
  Matrix attention(const Matrix &q, const Matrix &k, const Matrix &v) const;
  double gelu(double x) const;
  void gpt2Layer(Matrix &x, const std::string &prefix) const;
  void llamaLayer(Matrix &x, const std::string &prefix) const;

  bool isLlama() const { return options.architecture == Architecture::llama; }

  const DecoderOptions &options;
  int64_t batch, sequence;
  std::unordered_map<std::string, const Weight *> weights;
};

} // namespace

Matrix Reference::load(const std::string &name) const {
  const Weight &weight = *weights.at(name);
  bool isVector = weight.dims.size() == 1;
  std::vector<float> elements(weight.elements());
  weight.make(0, elements);
  Matrix result(isVector ? 1 : weight.dims[0], weight.dims.back());
  std::ranges::copy(elements, result.values.begin());
  return result;
}

Matrix Reference::linear(const Matrix &x, const std::string &name, bool bias) const {
  Matrix w = load(name + ".weight");
  Matrix y(x.rows, w.columns);
  if (bias) {
    Matrix b = load(name + ".bias");
    for (int64_t row = 0; row < y.rows; ++row)
      std::ranges::copy(b.values, y.values.begin() + row * y.columns);
  }
  for (int64_t row = 0; row < y.rows; ++row)
    for (int64_t k = 0; k < x.columns; ++k)
      for (int64_t column = 0; column < y.columns; ++column)
        y.at(row, column) += x.at(row, k) * w.at(k, column);
  return y;
}

Matrix Reference::norm(const Matrix &x, const std::string &name) const {
  Matrix scale = load(name + ".weight"), result(x.rows, x.columns);
  Matrix bias = isLlama() ? Matrix(1, x.columns) : load(name + ".bias");
  for (int64_t row = 0; row < x.rows; ++row) {
    double mean = 0, square = 0;
    if (!isLlama()) {
      for (int64_t i = 0; i < x.columns; ++i)
        mean += x.at(row, i);
      mean /= static_cast<double>(x.columns);
    }
    for (int64_t i = 0; i < x.columns; ++i)
      square += (x.at(row, i) - mean) * (x.at(row, i) - mean);
    double root = std::sqrt(square / static_cast<double>(x.columns) + double{decoderEpsilon});
    for (int64_t i = 0; i < x.columns; ++i)
      result.at(row, i) = (x.at(row, i) - mean) / root * scale.at(0, i) + bias.at(0, i);
  }
  return result;
}

void Reference::rotate(Matrix &x, int64_t heads) const {
  int64_t width = options.headWidth(), half = width / 2;
  std::vector<float> cosine = rotaryTable(options, false), sine = rotaryTable(options, true);
  for (int64_t row = 0; row < x.rows; ++row)
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t i = 0; i < half; ++i) {
        double &low = x.at(row, head * width + i), &high = x.at(row, head * width + half + i);
        int64_t entry = row % sequence * width + i;
        double c = cosine[entry], s = sine[entry], oldLow = low;
        low = oldLow * c - high * s;
        high = high * c + oldLow * s;
      }
}

Matrix Reference::attention(const Matrix &q, const Matrix &k, const Matrix &v) const {
  int64_t width = options.headWidth(), group = options.heads / options.kvHeads;
  Matrix result(q.rows, q.columns);
  std::vector<double> shares(sequence);
  for (int64_t row = 0; row < q.rows; ++row) {
    int64_t first = row - row % sequence, count = row % sequence + 1;
    for (int64_t head = 0; head < options.heads; ++head) {
      int64_t mine = head * width, theirs = head / group * width;
      for (int64_t key = 0; key < count; ++key) {
        double dot = 0;
        for (int64_t i = 0; i < width; ++i)
          dot += q.at(row, mine + i) * k.at(first + key, theirs + i);
        shares[key] = dot / std::sqrt(static_cast<double>(width));
      }
      double largest = *std::max_element(shares.begin(), shares.begin() + count), sum = 0;
      for (int64_t key = 0; key < count; ++key)
        sum += shares[key] = std::exp(shares[key] - largest);
      for (int64_t key = 0; key < count; ++key)
        for (int64_t i = 0; i < width; ++i)
          result.at(row, mine + i) += shares[key] / sum * v.at(first + key, theirs + i);
    }
  }
  return result;
}

double Reference::gelu(double x) const {
  if (options.gelu == Gelu::erf)
    return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

static void addTo(Matrix &x, const Matrix &y) {
  std::ranges::transform(x.values, y.values, x.values.begin(), std::plus<>());
}

/// Columns [begin, begin + width).
static Matrix columns(const Matrix &x, int64_t begin, int64_t width) {
  Matrix result(x.rows, width);
  for (int64_t row = 0; row < x.rows; ++row)
    for (int64_t i = 0; i < width; ++i)
      result.at(row, i) = x.at(row, begin + i);
  return result;
}

void Reference::gpt2Layer(Matrix &x, const std::string &prefix) const {
  int64_t width = options.hidden;
  Matrix qkv = linear(norm(x, prefix + ".ln_1"), prefix + ".attn.c_attn", true);
  Matrix mixed =
      attention(columns(qkv, 0, width), columns(qkv, width, width), columns(qkv, 2 * width, width));
  addTo(x, linear(mixed, prefix + ".attn.c_proj", true));
  Matrix up = linear(norm(x, prefix + ".ln_2"), prefix + ".mlp.c_fc", true);
  for (double &value : up.values)
    value = gelu(value);
  addTo(x, linear(up, prefix + ".mlp.c_proj", true));
}

void Reference::llamaLayer(Matrix &x, const std::string &prefix) const {
  Matrix y = norm(x, prefix + ".input_norm");
  Matrix q = linear(y, prefix + ".q_proj", false), k = linear(y, prefix + ".k_proj", false);
  rotate(q, options.heads);
  rotate(k, options.kvHeads);
  Matrix mixed = attention(q, k, linear(y, prefix + ".v_proj", false));
  addTo(x, linear(mixed, prefix + ".o_proj", false));
  y = norm(x, prefix + ".post_norm");
  Matrix gate = linear(y, prefix + ".gate_proj", false), up = linear(y, prefix + ".up_proj", false);
  for (size_t i = 0; i < gate.values.size(); ++i)
    gate.values[i] = gate.values[i] / (1 + std::exp(-gate.values[i])) * up.values[i];
  addTo(x, linear(gate, prefix + ".down_proj", false));
}

Matrix Reference::logits(const std::vector<int64_t> &ids) const {
  Matrix x(batch * sequence, options.hidden);
  Matrix embedding = load("wte.weight");
  for (int64_t row = 0; row < x.rows; ++row)
    for (int64_t i = 0; i < x.columns; ++i)
      x.at(row, i) = embedding.at(ids[row], i);
  if (!isLlama()) {
    Matrix places = load("wpe.weight");
    for (int64_t row = 0; row < x.rows; ++row)
      for (int64_t i = 0; i < x.columns; ++i)
        x.at(row, i) += places.at(row % sequence, i);
  }
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    std::string prefix = "h." + std::to_string(layer);
    isLlama() ? llamaLayer(x, prefix) : gpt2Layer(x, prefix);
  }
  x = norm(x, isLlama() ? "norm" : "ln_f");
  if (options.untie)
    return linear(x, "lm_head", false);
  Matrix result(x.rows, options.vocabulary);
  for (int64_t row = 0; row < x.rows; ++row)
    for (int64_t token = 0; token < options.vocabulary; ++token)
      for (int64_t i = 0; i < x.columns; ++i)
        result.at(row, token) += x.at(row, i) * embedding.at(token, i);
  return result;
}

/// Mean of -log softmax(logits)[label] over the labels that count.
static double crossEntropy(const Matrix &logits, const std::vector<int64_t> &labels) {
  double total = 0;
  int64_t counted = 0;
  for (int64_t row = 0; row < logits.rows; ++row) {
    if (labels[row] == ignoredLabel)
      continue;
    const double *begin = &logits.values[row * logits.columns], *end = begin + logits.columns;
    double largest = *std::max_element(begin, end), sum = 0;
    for (const double *value = begin; value != end; ++value)
      sum += std::exp(*value - largest);
    total += largest + std::log(sum) - begin[labels[row]];
    ++counted;
  }
  return total / static_cast<double>(counted);
}

template <typename T>
static Status writeTensor(const std::filesystem::path &path, std::string_view name,
                          ElementType type, const std::vector<int64_t> &dims,
                          const std::vector<T> &values) {
  WireWriter tensor = rawTensor(
      name, type, dims, {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)});
  SPILLWAY_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(path));
  SPILLWAY_RETURN_IF_ERROR(file.append(tensor.bytes()));
  return file.close();
}

Status modelgen::checkTestData(const DecoderOptions &options, int64_t batch, int64_t sequence) {
  if (sequence > options.context)
    return userError("test data of {} tokens are longer than the context", sequence);
  if (!options.dynamic && (batch != options.batch || sequence != options.sequence))
    return userError("the model takes inputs of {} x {} only", options.batch, options.sequence);
  return {};
}

Status modelgen::writeTestData(const DecoderOptions &options, const Model &model, int64_t batch,
                               int64_t sequence, const std::filesystem::path &folder) {
  std::filesystem::path set = folder / "test_data_set_0";
  std::error_code error;
  std::filesystem::create_directories(set, error);
  if (error)
    return systemError(error.value(), set.string());

  // Streams that no weight has.
  uint64_t idKey = hashCounter(options.seed, ~uint64_t{0}),
           labelKey = hashCounter(options.seed, ~uint64_t{1});
  std::vector<int64_t> ids, labels;
  for (int64_t i = 0; i < batch * sequence; ++i) {
    ids.push_back(static_cast<int64_t>(hashCounter(idKey, i) % options.vocabulary));
    labels.push_back(static_cast<int64_t>(hashCounter(labelKey, i) % options.vocabulary));
  }
  if (labels.size() > 1)
    labels[sequence - 1] = ignoredLabel;

  Matrix logits = Reference(options, model, batch, sequence).logits(ids);
  SPILLWAY_RETURN_IF_ERROR(
      writeTensor(set / "input_0.pb", "input_ids", int64, {batch, sequence}, ids));
  int output = 0;
  if (options.logits) {
    std::vector<float> rounded(logits.values.begin(), logits.values.end());
    SPILLWAY_RETURN_IF_ERROR(writeTensor(set / fmt::format("output_{}.pb", output++), "logits",
                                         float32, {batch, sequence, options.vocabulary}, rounded));
  }
  if (!options.loss)
    return {};
  SPILLWAY_RETURN_IF_ERROR(
      writeTensor(set / "input_1.pb", "labels", int64, {batch, sequence}, labels));
  return writeTensor(set / fmt::format("output_{}.pb", output), "loss", float32, {},
                     std::vector{static_cast<float>(crossEntropy(logits, labels))});
}
