#include "runtime/base/File.h"
#include "runtime/bundle/Bundle.h"
#include "runtime/io/Npy.h"
#include "runtime/session/InProcessJob.h"
#include "tools/spillway/Commands.h"
#include "tools/spillway/NamedFiles.h"
#include "tools/spillway/Report.h"
#include "tools/spillway/SessionFlags.h"
#include "tools/spillway/Summary.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

namespace spillway {

namespace {
struct RunOptions {
  std::string bundle;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  SessionFlags session;
  unsigned repeat = 1;
  std::string trace;
  std::string stats;
  bool replay = false;
};

/// All ranks run on the same inputs; rank 0 delivers the outputs, which those of the
/// others equal.
class Run {
public:
  Run(const RunOptions &options, InProcessJob &job) : options_(options), job_(job) {}

  Status run() {
    SPILLWAY_RETURN_IF_ERROR(prepareInputs());
    SPILLWAY_RETURN_IF_ERROR(prepareOutputs());
    SPILLWAY_RETURN_IF_ERROR(job_.requireMemory());
    StepTimes steps;
    SPILLWAY_RETURN_IF_ERROR(
        job_.run([&](Session &session, uint32_t rank) -> Status {
          SPILLWAY_RETURN_IF_ERROR(session.executor().runPrologue());
          for (unsigned round = 0; round < options_.repeat; ++round) {
            SPILLWAY_RETURN_IF_ERROR(loadInputs(session));
            SPILLWAY_RETURN_IF_ERROR(session.executor().runStep());
            if (rank == 0)
              steps.push_back(session.executor().lastStep());
          }
          return {};
        }));
    for (const Binding &output : program().outputs)
      SPILLWAY_RETURN_IF_ERROR(deliver(output));
    if (!options_.trace.empty())
      SPILLWAY_RETURN_IF_ERROR(writeTrace(options_.trace, job_.session(0)));
    if (!options_.stats.empty())
      SPILLWAY_RETURN_IF_ERROR(writeStats(options_.stats, job_, steps));
    else if (options_.repeat > 1)
      fmt::print("{}\n", summarize(steps));
    return {};
  }

private:
  const Program &program() { return job_.session(0).program(); }

  struct Input {
    const Binding *binding;
    std::filesystem::path file;
    NpyHeader header;
  };

  Status prepareInputs() {
    const std::vector<Binding> &bindings = program().inputs;
    SPILLWAY_ASSIGN_OR_RETURN(auto files,
                              parseNamedFiles(options_.inputs, "input", "input", bindings));
    std::vector<std::string> missing;
    for (const Binding &binding : bindings) {
      auto found = files.find(binding.name);
      if (found == files.end()) {
        missing.push_back(
            fmt::format("{} {}", binding.name, describe(binding.dataType, binding.shape)));
        continue;
      }
      Result<NpyHeader> header = readNpyHeader(found->second);
      if (!header.ok())
        return std::move(header).error().in(fmt::format("input '{}'", binding.name));
      // NumPy has no bf16: its bits come as u16.
      bool bits = binding.dataType == DataType::bf16 && header->type == DataType::u16;
      if ((header->type != binding.dataType && !bits) || header->shape != binding.shape)
        return userError("input '{}' is {}; '{}' holds {}", binding.name,
                         describe(binding.dataType, binding.shape), found->second.string(),
                         describe(header->type, header->shape));
      inputs_.push_back({&binding, found->second, *std::move(header)});
    }
    if (!missing.empty())
      return userError("missing inputs: {} (give each as --input NAME=FILE.npy)",
                       fmt::join(missing, ", "));
    return {};
  }

  /// Refuses what cannot be written before anything is computed.
  Status prepareOutputs() {
    SPILLWAY_ASSIGN_OR_RETURN(
        outputs_, parseNamedFiles(options_.outputs, "output", "output", program().outputs));
    // An output may replace an input, as states of a recurrent net do.
    std::vector<std::filesystem::path> values;
    for (const auto &[name, file] : outputs_)
      values.push_back(file);
    SPILLWAY_RETURN_IF_ERROR(requireOutputs(values));
    for (const Input &input : inputs_)
      values.push_back(input.file);
    SPILLWAY_RETURN_IF_ERROR(requireOutputs({options_.stats, options_.trace}, values));
    std::map<std::filesystem::path, uint64_t> bytesByFolder;
    for (const Binding &binding : program().outputs)
      if (auto found = outputs_.find(binding.name); found != outputs_.end())
        bytesByFolder[folderOf(found->second)] += binding.slice.bytes + blockBytes;
    for (const auto &[folder, bytes] : bytesByFolder)
      SPILLWAY_RETURN_IF_ERROR(requireSpace(folder, bytes, "the outputs"));
    return {};
  }

  static std::filesystem::path folderOf(const std::filesystem::path &file) {
    return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  }

  /// Straight from the files into the arena; a step may have overwritten them.
  Status loadInputs(Session &session) const {
    for (const Input &input : inputs_)
      if (Status status = readNpyData(input.file, input.header, session.bytes(*input.binding));
          !status.ok())
        return std::move(status).error().in(fmt::format("input '{}'", input.binding->name));
    return {};
  }

  Status deliver(const Binding &output) {
    std::span<const std::byte> bytes = job_.session(0).bytes(output);
    auto found = outputs_.find(output.name);
    if (found == outputs_.end()) {
      if (outputs_.empty())
        fmt::print("{}: {}  {}\n", output.name, describe(output.dataType, output.shape),
                   options_.replay ? "not computed" : summarize(output.dataType, bytes));
      return {};
    }
    SPILLWAY_ASSIGN_OR_RETURN(std::filesystem::path target, replaceableFile(found->second));
    std::filesystem::path temporary = target;
    temporary += ".tmp";
    Status status = writeNpy(temporary, output.dataType, output.shape, bytes, true);
    std::error_code code;
    if (status.ok()) {
      std::filesystem::rename(temporary, target, code);
      if (code)
        status =
            systemError(code.value(), fmt::format("cannot create '{}'", found->second.string()));
    }
    if (!status.ok()) {
      std::filesystem::remove(temporary, code);
      return std::move(status).error().in(fmt::format("output '{}'", output.name));
    }
    return {};
  }

  const RunOptions &options_;
  InProcessJob &job_;
  std::vector<Input> inputs_;
  std::map<std::string, std::filesystem::path> outputs_;
};

Status runBundle(const RunOptions &options) {
  SPILLWAY_ASSIGN_OR_RETURN(SessionOptions sessionOptions, options.session.parse());
  sessionOptions.replay = options.replay;
  SPILLWAY_ASSIGN_OR_RETURN(InProcessJob job,
                            InProcessJob::open(options.bundle, sessionOptions));
  Status status = Run(options, job).run();
  // Taking a job down waits for its transfers. After an error they may never end: they end with
  // the process, once the user has been told.
  if (!status.ok())
    [[maybe_unused]] static auto *const abandoned = new InProcessJob(std::move(job));
  return status;
}
} // namespace

void addRunCommand(CLI::App &app, Status &status) {
  auto options = std::make_shared<RunOptions>();
  CLI::App *run = app.add_subcommand("run", "Run a compiled model");
  run->add_option("bundle", options->bundle, "The folder that `compile` wrote")
      ->type_name("BUNDLE")
      ->required();
  run->add_option("--input", options->inputs, "An input of the model, from a .npy file")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  CLI::Option *output =
      run->add_option("--output", options->outputs,
                      "Where to write an output, as .npy; without any, all are summarised")
          ->type_name("NAME=FILE")
          ->allow_extra_args(false);
  run->add_option("--repeat", options->repeat, "Steps to run")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  run->add_option("--trace", options->trace, "Write a timeline for Perfetto")->type_name("FILE");
  run->add_option("--stats", options->stats, "Write times, bytes and memory as JSON")
      ->type_name("FILE");
  run->add_flag("--replay", options->replay, "Run everything but the kernels: no output is computed")
      ->excludes(output);
  options->session.addTo(*run, /*writes=*/false);
  run->callback([options, &status] { status = runBundle(*options); });
}

} // namespace spillway
