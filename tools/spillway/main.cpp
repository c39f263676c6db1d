// The command line of everything. `run`, `train` and what looks at bundles happen in this process,
// which links no LLVM; every other subcommand is the compiler's.
#include "runtime/base/Console.h"
#include "runtime/base/Nearest.h"
#include "runtime/base/Status.h"
#include "tools/spillway/Commands.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

using namespace spillway;

namespace {
constexpr const char *compilerName = "spillway-compiler";
constexpr const char *compilerGroup = "SUBCOMMANDS of the compiler";

int report(const Error &error) {
  note("spillway: error: {}\n", error.message);
  return static_cast<int>(error.kind);
}

/// Becomes the compiler, which lies beside this program. Returns only on failure.
Error becomeCompiler(char **argv) {
  std::error_code code;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", code);
  if (code)
    return systemError(code.value(), "cannot find this program's own folder");
  std::filesystem::path compiler = self.parent_path() / compilerName;
  ::execv(compiler.c_str(), argv);
  return systemError(errno, fmt::format("cannot start '{}'", compiler.string()));
}

/// Names of all options of a subcommand, as they are typed.
std::vector<std::string> optionNames(const CLI::App &command) {
  std::vector<std::string> names;
  for (const CLI::Option *option : command.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  return names;
}

int runHere(int argc, char **argv) {
  CLI::App app("Runs ONNX models that do not fit in memory.", "spillway");
  app.set_version_flag("--version", std::string("spillway ") + SPILLWAY_VERSION);
  app.require_subcommand(1);
  // `main` hands these over before they are parsed.
  app.add_subcommand("compile", "Compile an ONNX model into a bundle")->group(compilerGroup);
  app.add_subcommand("plan", "Say what a bundle would come to in other memory")->group(compilerGroup);
  app.add_subcommand("replan", "Plan a bundle for other memory, without compiling again")->group(compilerGroup);
  app.add_subcommand("verify", "Compile models, run them on stored inputs, compare the outputs")->group(compilerGroup);
  app.footer("`spillway SUBCOMMAND --help` describes each.");
  Status status;
  addRunCommand(app, status);
  addTrainCommand(app, status);
  addInspectCommand(app, status);
  addExportCommand(app, status);
  addCalibrateCommand(app, status);
  if (argc == 1) {
    fmt::print("{}", app.help());
    return static_cast<int>(ErrorKind::user);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError &) {
    const CLI::App &command = app.get_subcommands().empty() ? app : *app.get_subcommands().front();
    std::string name = command.remaining().empty() ? std::string() : command.remaining().front();
    return report(
        userError("unexpected argument '{}'{}", name, didYouMean(name, optionNames(command))));
  } catch (const CLI::Success &success) {
    app.exit(success);
    status = finishOutput();
    return status.ok() ? 0 : report(status.error());
  } catch (const CLI::ParseError &error) {
    return report(userError("{}", error.what()));
  } catch (const std::exception &exception) {
    return report(bugError("{}", exception.what()));
  }
  if (status.ok())
    status = finishOutput();
  return status.ok() ? 0 : report(status.error());
}
} // namespace

int main(int argc, char **argv) {
  openStandardStreams();
  // A file beyond the limit of its size is an error of the write.
  std::signal(SIGXFSZ, SIG_IGN);
  std::string_view first = argc > 1 ? argv[1] : "";
  const std::vector<std::string> here = {"run", "train", "export", "inspect", "calibrate"};
  const std::vector<std::string> compiler = {"compile", "plan", "replan", "verify"};
  if (first.empty() || first.starts_with("-") || std::ranges::find(here, first) != here.end())
    return runHere(argc, argv);
  if (std::ranges::find(compiler, first) != compiler.end())
    return report(becomeCompiler(argv));
  std::vector<std::string> all = here;
  all.insert(all.end(), compiler.begin(), compiler.end());
  return report(userError("unknown command '{}'{}; the commands are {}", first,
                          didYouMean(first, all), fmt::join(all, ", ")));
}
