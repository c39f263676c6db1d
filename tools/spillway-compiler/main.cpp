// The subcommands of `spillway` that need the compiler. Started by the driver, which
// hands over its own arguments.

#include "runtime/base/Console.h"
#include "spillway/Pipelines/Registration.h"
#include "tools/spillway-compiler/Commands.h"

#include <CLI/CLI.hpp>
#include "llvm/Support/raw_ostream.h"

#include <csignal>

using namespace spillway;

int main(int argc, char **argv) {
  openStandardStreams();
  // A file beyond the limit of its size is an error of the write.
  std::signal(SIGXFSZ, SIG_IGN);
  registerPasses();
  CLI::App app("Compiles ONNX models that do not fit in memory.", "spillway");
  app.require_subcommand(1);
  Status status;
  addCompileCommand(app, status);
  addPlanCommand(app, status);
  addReplanCommand(app, status);
  addVerifyCommand(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &success) {
    return app.exit(success);
  } catch (const CLI::ParseError &error) {
    note("spillway: error: {}\n", error.what());
    return static_cast<int>(ErrorKind::user);
  } catch (const std::exception &exception) {
    note("spillway: error: {}\n", exception.what());
    return static_cast<int>(ErrorKind::bug);
  }
  // What standard error did not take is lost.
  llvm::errs().clear_error();
  if (status.ok())
    status = finishOutput();
  if (status.ok())
    return 0;
  note("spillway: error: {}\n", status.error().message);
  return static_cast<int>(status.error().kind);
}
