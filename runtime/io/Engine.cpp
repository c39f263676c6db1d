#include "runtime/io/Engine.h"
#include "runtime/io/PreadEngine.h"
#include "runtime/io/UringEngine.h"

namespace spillway::io {

std::optional<EngineKind> engineKindFromName(std::string_view name) {
  if (name == "auto")
    return EngineKind::automatic;
  if (name == "uring")
    return EngineKind::uring;
  if (name == "pread")
    return EngineKind::pread;
  return std::nullopt;
}

Result<std::unique_ptr<Engine>> makeEngine(EngineKind kind, const EngineOptions &options) {
  if (options.depth == 0 || options.threads == 0 || options.blockBytes == 0 ||
      options.blockBytes % directAlignment != 0 || options.blockBytes > uint64_t(1) << 30 ||
      options.transferLimit % directAlignment != 0)
    return bugError("an I/O engine of depth {}, {} threads, blocks of {} bytes", options.depth,
                    options.threads, options.blockBytes);
  if (kind == EngineKind::pread)
    return PreadEngine::create(options);
  Result<std::unique_ptr<Engine>> engine = UringEngine::create(options);
  if (engine.ok() || kind == EngineKind::uring)
    return engine;
  return PreadEngine::create(options);
}

} // namespace spillway::io
