// Makes ONNX models: decoders of any size with seeded weights, and small graphs described in JSON.

#include "tools/spillway-modelgen/DecoderReference.h"
#include "tools/spillway-modelgen/JsonModel.h"

#include <CLI/CLI.hpp>

using namespace spillway;
using namespace spillway::modelgen;

namespace {
struct DecoderCommand {
  std::filesystem::path path;
  DecoderOptions options;
  std::vector<std::string> outputs = {"logits"};
  External external;
  /// Batch and sequence.
  std::vector<int64_t> testData;
};
} // namespace

template <typename Enum>
static void addEnum(CLI::App &app, const std::string &name, Enum &value,
                    const std::map<std::string, Enum> &values, const std::string &text) {
  app.add_option(name, value, text)->transform(CLI::CheckedTransformer(values).description(""));
}

static void addDecoder(CLI::App &app, const std::string &name, Architecture architecture,
                       DecoderCommand &command) {
  CLI::App &sub = *app.add_subcommand(name, "A decoder shaped like this family's");
  DecoderOptions &options = command.options;
  options.architecture = architecture;
  sub.add_option("output", command.path, "The model to write")->required();
  sub.add_option("--layers", options.layers)->capture_default_str();
  sub.add_option("--hidden", options.hidden, "Width of the residual stream")->capture_default_str();
  sub.add_option("--heads", options.heads)->capture_default_str();
  if (architecture == Architecture::llama) {
    sub.add_option("--kv-heads", options.kvHeads, "Heads of keys and values [as --heads]");
  } else {
    addEnum(sub, "--ln", options.layerNorm,
            {{"op", LayerNorm::op}, {"decomposed", LayerNorm::decomposed}},
            "Layer norm: op or decomposed");
    addEnum(sub, "--gelu", options.gelu, {{"erf", Gelu::erf}, {"tanh", Gelu::tanh}}, "erf or tanh");
  }
  sub.add_option("--vocab", options.vocabulary, "Number of tokens")->capture_default_str();
  sub.add_option("--ctx", options.context, "Longest sequence")->capture_default_str();
  sub.add_option("--ffn", options.ffn, "Width of the feed-forward layer [as the family has it]");
  sub.add_option("--batch", options.batch, "Of static inputs")->capture_default_str();
  sub.add_option("--seq", options.sequence, "Of static inputs [as --ctx]");
  sub.add_flag("--dynamic", options.dynamic, "Inputs are [batch, sequence], by name");
  addEnum(sub, "--mask", options.mask, {{"const", Mask::constant}, {"trilu", Mask::trilu}},
          "Causal mask: const (a stored table) or trilu");
  sub.add_flag("--untie", options.untie, "The head has its own weight");
  sub.add_option("--outputs", command.outputs, "logits, loss or both")
      ->delimiter(',')
      ->check(CLI::IsMember({"logits", "loss"}));
  addEnum(sub, "--fill", options.fill,
          {{"normal", Fill::normal}, {"zeros", Fill::zeros}, {"hole", Fill::hole}},
          "Weights: normal, zeros or hole (zeros that take no space on disk)");
  sub.add_option("--seed", options.seed)->capture_default_str();
  sub.add_option("--external", command.external.location, "File for the weights, beside the model");
  sub.add_option("--align", command.external.alignment, "Of external weights, bytes")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  sub.add_option("--test-data", command.testData, "B,S: test_data_set_0 with expected outputs")
      ->delimiter(',')
      ->expected(2)
      ->check(CLI::PositiveNumber);
}

static Status makeDecoderModel(DecoderCommand &command) {
  auto wanted = [&](const char *output) { return std::ranges::count(command.outputs, output) > 0; };
  command.options.logits = wanted("logits");
  command.options.loss = wanted("loss");
  SPILLWAY_ASSIGN_OR_RETURN(DecoderOptions options, completed(command.options));
  if (command.external.location.find('/') != std::string::npos)
    return userError("--external is the name of a file beside the model");
  if (!command.testData.empty())
    SPILLWAY_RETURN_IF_ERROR(checkTestData(options, command.testData[0], command.testData[1]));
  std::optional<External> external;
  if (!command.external.location.empty())
    external = command.external;
  Model model = makeDecoder(options);
  SPILLWAY_RETURN_IF_ERROR(model.save(command.path, 8, 17, "decoder", external));
  uint64_t parameters = 0;
  for (const Weight &weight : model.weights())
    parameters += weight.elements();
  fmt::print("{}: {} parameters, {} node{}\n", command.path.string(), parameters, model.nodes(),
             model.nodes() == 1 ? "" : "s");
  if (command.testData.empty())
    return {};
  return writeTestData(options, model, command.testData[0], command.testData[1],
                       command.path.parent_path());
}

int main(int argc, char **argv) {
  CLI::App app("Makes ONNX models for tests and benchmarks");
  app.require_subcommand(1);
  DecoderCommand gpt2, llama;
  addDecoder(app, "gpt2", Architecture::gpt2, gpt2);
  addDecoder(app, "llama", Architecture::llama, llama);
  std::filesystem::path json, output;
  CLI::App &fromJson = *app.add_subcommand("json", "A model described in JSON");
  fromJson.add_option("input", json)->required();
  fromJson.add_option("output", output)->required();
  fromJson.footer(jsonModelFormat);
  CLI11_PARSE(app, argc, argv);

  Status status = app.got_subcommand("json")    ? writeJsonModel(json, output)
                  : app.got_subcommand("llama") ? makeDecoderModel(llama)
                                                : makeDecoderModel(gpt2);
  if (status)
    return 0;
  fmt::print(stderr, "spillway-modelgen: {}\n", status.error().message);
  return static_cast<int>(status.error().kind);
}
