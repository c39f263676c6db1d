// Reads or writes a file through a storage engine and prints what that took.
#include "runtime/base/Size.h"
#include "runtime/io/SequentialTransfer.h"
#include "runtime/io/ThrottledEngine.h"
#include "runtime/memory/Arena.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <sys/resource.h>
#include <vector>

using namespace spillway;
using namespace spillway::io;

namespace {

struct Settings {
  std::string file;
  std::string engine = "auto";
  bool writes = false;
  uint64_t bytes = uint64_t(1) << 30;
  uint64_t request = 0;
  double throttle = 0;
  EngineOptions options;
};

double processorSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval &time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Result<std::unique_ptr<Engine>> makeEngineFor(const Settings &settings) {
  std::optional<EngineKind> kind = engineKindFromName(settings.engine);
  if (!kind)
    return userError("'{}' is no engine; expected auto, uring or pread", settings.engine);
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, makeEngine(*kind, settings.options));
  if (settings.throttle == 0)
    return engine;
  return std::unique_ptr<Engine>(std::make_unique<ThrottledEngine>(
      std::move(engine), Throttle{settings.throttle, settings.throttle}));
}

Status measure(const Settings &settings) {
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, makeEngineFor(settings));
  uint64_t requestBytes = settings.request ? settings.request : settings.options.blockBytes;
  SPILLWAY_ASSIGN_OR_RETURN(
      // Twice the depth of requests with the engine, so that it never runs dry.
      Arena arena, Arena::allocate(2 * settings.options.depth * requestBytes, {.prefault = true}));
  std::span<std::byte> bytes = arena.bytes();
  SPILLWAY_RETURN_IF_ERROR(engine->registerMemory({&bytes, 1}));
  SPILLWAY_ASSIGN_OR_RETURN(
      int file,
      engine->open(settings.file, {.access = settings.writes ? Access::keep : Access::read}));

  const Request::Kind kind = settings.writes ? Request::write : Request::read;
  double processorStart = processorSeconds();
  TimePoint start = Clock::now();
  SPILLWAY_RETURN_IF_ERROR(
      transferSequentially(*engine, file, {&kind, 1}, settings.bytes, requestBytes, bytes));
  double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  double processor = processorSeconds() - processorStart;

  Counters counters = engine->counters();
  double gigabytes = static_cast<double>(settings.bytes) * 1e-9;
  fmt::print("engine={} direction={} GB/s={:.3f} cpu_ms/GB={:.2f} in_flight/depth={:.3f}",
             settings.engine, settings.writes ? "write" : "read", gigabytes / seconds,
             processor * 1e3 / gigabytes,
             static_cast<double>(counters.blockNs) / static_cast<double>(counters.busyNs) /
                 settings.options.depth);
  if (settings.throttle > 0)
    fmt::print(" of_throttle={:.4f}", gigabytes * 1e9 / seconds / settings.throttle);
  fmt::print("\n");
  return {};
}

} // namespace

int main(int argc, char **argv) {
  Settings settings;
  std::string bytes = "1GiB", block = "1MiB", request, throttle;
  CLI::App app("Measures a storage engine on a file");
  app.add_option("file", settings.file, "The file; for --write it is made or overwritten")
      ->required();
  app.add_option("--engine", settings.engine, "auto, uring or pread");
  app.add_flag("--write", settings.writes, "Write instead of read");
  app.add_option("--bytes", bytes, "Bytes to transfer");
  app.add_option("--block", block, "Bytes of one transfer");
  app.add_option("--request", request, "Bytes of one request (default: a block)");
  app.add_option("--depth", settings.options.depth, "Blocks in flight");
  app.add_option("--throttle", throttle, "Bytes per second");
  CLI11_PARSE(app, argc, argv);

  auto run = [&]() -> Status {
    SPILLWAY_ASSIGN_OR_RETURN(settings.bytes, parseSize(bytes));
    SPILLWAY_ASSIGN_OR_RETURN(settings.options.blockBytes, parseSize(block));
    if (!request.empty()) {
      SPILLWAY_ASSIGN_OR_RETURN(settings.request, parseSize(request));
    }
    if (!throttle.empty()) {
      SPILLWAY_ASSIGN_OR_RETURN(uint64_t rate, parseSize(throttle));
      settings.throttle = static_cast<double>(rate);
    }
    return measure(settings);
  };
  Status status = run();
  if (status.ok())
    return 0;
  fmt::print(stderr, "io_bench: {}\n", status.error().message);
  return static_cast<int>(status.error().kind);
}
