#include "tools/spillway-compiler/Plugins.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

#include <CLI/CLI.hpp>

using namespace spillway;

void spillway::addPluginOptions(CLI::App &command, PluginFlags &flags) {
  command.add_option("--load-pass-plugin", flags.passes,
                     "Shared object with passes, or ONNX operators (repeatable)")
      ->allow_extra_args(false);
  command.add_option("--load-dialect-plugin", flags.dialects,
                     "Shared object with dialects (repeatable)")
      ->allow_extra_args(false);
}

Result<mlir::DialectRegistry> spillway::loadPlugins(const PluginFlags &flags) {
  for (const std::string &path : flags.passes) {
    llvm::Expected<mlir::PassPlugin> plugin = mlir::PassPlugin::load(path);
    if (!plugin)
      return userError("--load-pass-plugin: {}", llvm::toString(plugin.takeError()));
    plugin->registerPassRegistryCallbacks();
  }
  mlir::DialectRegistry registry;
  for (const std::string &path : flags.dialects) {
    llvm::Expected<mlir::DialectPlugin> plugin = mlir::DialectPlugin::load(path);
    if (!plugin)
      return userError("--load-dialect-plugin: {}", llvm::toString(plugin.takeError()));
    plugin->registerDialectRegistryCallbacks(registry);
  }
  return registry;
}
