// Compiles models, runs them on stored inputs, and compares with stored outputs: the
// layout of the ONNX backend tests.

#include "tools/spillway-compiler/ScratchFolder.h"
#include "tools/spillway-compiler/VerifyCase.h"
#include "tools/spillway-compiler/VerifyReport.h"

#include <CLI/CLI.hpp>

using namespace spillway;

namespace {

struct Flags {
  VerifyOptions options;
  std::vector<std::string> folders, expectedFailures;
  std::string junit;
};

Status verify(const Flags &flags) {
  SPILLWAY_ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::create());
  ExpectedFailures expected;
  for (const std::string &file : flags.expectedFailures) {
    SPILLWAY_RETURN_IF_ERROR(readExpectedFailures(file, expected));
  }
  SPILLWAY_ASSIGN_OR_RETURN(mlir::DialectRegistry plugins,
                            loadPlugins(flags.options.compile.plugins));
  VerifyReport report(std::move(expected));
  for (const std::string &folder : flags.folders)
    report.add(folder, verifyCase(folder, flags.options, plugins, scratch.path()));
  Status written = flags.junit.empty() ? Status() : report.write(flags.junit);
  Status finished = report.finish();
  return written.ok() ? finished : written;
}

} // namespace

void spillway::addVerifyCommand(CLI::App &app, Status &status) {
  auto flags = std::make_shared<Flags>();
  CLI::App *command = app.add_subcommand(
      "verify", "Compiles DIR/model.onnx, runs it on DIR/test_data_set_*, compares");
  command->add_option("folders", flags->folders, "Folders in the layout of the ONNX backend tests")
      ->required();
  command->add_option("--atol", flags->options.atol, "Absolute tolerance, where no data.json says another")
      ->capture_default_str();
  command->add_option("--rtol", flags->options.rtol, "Relative tolerance, where no data.json says another")
      ->capture_default_str();
  command->add_flag("--constant-inputs", flags->options.constantInputs,
                    "Inputs whose values must be known when the model is compiled (shapes, axes and "
                    "the like) become constants of their data");
  command->add_option("--expected-failures", flags->expectedFailures,
                      "File with a line NAME REASON for each folder whose failure is expected: it is "
                      "skipped, and fails where it passes (repeatable)")
      ->allow_extra_args(false);
  command->add_option("--junit", flags->junit, "Write what became of each folder as JUnit's XML");
  command->add_option("--io", flags->options.engine, "Storage engine")
      ->check(CLI::IsMember({"auto", "uring", "pread"}));
  addCompileOptions(*command, flags->options.compile);
  command->callback([flags, &status] { status = verify(*flags); });
}
