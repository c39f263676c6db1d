#include "Plugin.h"

#include "mlir/Tools/Plugins/PassPlugin.h"

static void registerAll() {
  registerCapReluPass();
  spillway::OperatorTable::extend({{.name = "Swish",
                                    .since = 1,
                                    .convert = convertSwish,
                                    .minInputs = 1,
                                    .maxInputs = 1,
                                    .types = spillway::TypeClass::floats,
                                    .domain = "com.example"}});
}

extern "C" mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "ExamplePlugin", "0.1", registerAll};
}
