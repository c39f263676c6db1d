// Shared objects that extend the compiler; see docs/extending.md.
#pragma once

#include "runtime/base/Status.h"

#include "mlir/IR/DialectRegistry.h"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace spillway {

struct PluginFlags {
  std::vector<std::string> passes, dialects;
};

void addPluginOptions(CLI::App &command, PluginFlags &flags);

/// Loads plugins for the rest of the process, once: their passes and operators are known from then
/// on, their dialects are in the result.
Result<mlir::DialectRegistry> loadPlugins(const PluginFlags &flags);

} // namespace spillway
