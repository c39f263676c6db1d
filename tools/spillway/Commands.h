// The subcommands that happen in the driver's process.
#pragma once

#include "runtime/base/Status.h"

namespace CLI {
class App;
}

namespace spillway {

/// Each adds its subcommand, whose result is stored in `status` when it is called.
void addRunCommand(CLI::App &app, Status &status);
void addExportCommand(CLI::App &app, Status &status);
void addTrainCommand(CLI::App &app, Status &status);
void addInspectCommand(CLI::App &app, Status &status);
void addCalibrateCommand(CLI::App &app, Status &status);

} // namespace spillway
