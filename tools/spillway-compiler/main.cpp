// The subcommands of `spillway` that need the compiler. Started by the driver, which
// hands over its own arguments.

#include "spillway/Pipelines/Registration.h"
#include "tools/spillway-compiler/Commands.h"

#include <CLI/CLI.hpp>

#include <csignal>

using namespace spillway;

int main(int argc, char **argv) {
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
    fmt::print(stderr, "spillway: error: {}\n", error.what());
    return static_cast<int>(ErrorKind::user);
  } catch (const std::exception &exception) {
    fmt::print(stderr, "spillway: error: {}\n", exception.what());
    return static_cast<int>(ErrorKind::bug);
  }
  if (status.ok())
    return 0;
  fmt::print(stderr, "spillway: error: {}\n", status.error().message);
  return static_cast<int>(status.error().kind);
}
