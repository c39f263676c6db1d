#include "tools/spillway/MeasureStorage.h"

#include "runtime/io/SequentialTransfer.h"
#include "runtime/memory/Arena.h"

#include <algorithm>
#include <random>
#include <unistd.h>

namespace spillway {

using namespace io;

namespace {

/// Removed with the object.
struct TemporaryFile {
  explicit TemporaryFile(const std::filesystem::path &folder)
      : path(folder / fmt::format(".spillway-calibrate-{}", ::getpid())) {}
  ~TemporaryFile() {
    std::error_code code;
    std::filesystem::remove(path, code);
  }
  std::filesystem::path path;
};

double secondsSince(TimePoint start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Waits for everything that is in flight.
Status drain(Engine &engine) {
  std::vector<Completion> completions;
  while (engine.inFlight() != 0)
    SPILLWAY_RETURN_IF_ERROR(engine.poll(completions, forever));
  for (Completion &completion : completions)
    SPILLWAY_RETURN_IF_ERROR(std::move(completion.status));
  return {};
}

/// The median of single blocks all over the file.
Result<double> measureLatency(Engine &engine, int file, Request::Kind kind, uint64_t fileBytes,
                              std::byte *memory) {
  constexpr int samples = 65;
  uint64_t blocks = fileBytes / directAlignment;
  std::vector<double> seconds;
  for (uint64_t i = 0; i < samples; ++i) {
    uint64_t block = i * 2654435761u % blocks;
    TimePoint start = Clock::now();
    SPILLWAY_RETURN_IF_ERROR(
        engine.submit({kind, file, block * directAlignment, memory, directAlignment, 0, 0}));
    SPILLWAY_RETURN_IF_ERROR(drain(engine));
    seconds.push_back(secondsSince(start));
  }
  std::ranges::nth_element(seconds, seconds.begin() + samples / 2);
  return seconds[samples / 2];
}

/// Seconds that transferring the first `bytes` of the file takes.
Result<double> measureTransfer(Engine &engine, int file, std::span<const Request::Kind> kinds, uint64_t bytes,
                               uint64_t requestBytes, std::span<std::byte> memory) {
  TimePoint start = Clock::now();
  SPILLWAY_RETURN_IF_ERROR(transferSequentially(engine, file, kinds, bytes, requestBytes, memory));
  if (std::ranges::find(kinds, Request::write) != kinds.end()) {
    SPILLWAY_RETURN_IF_ERROR(engine.submit({.kind = Request::sync, .file = file}));
    SPILLWAY_RETURN_IF_ERROR(drain(engine));
  }
  return secondsSince(start);
}

} // namespace

Result<StorageSpeed> measureStorage(const std::filesystem::path &folder, uint64_t bytes,
                                    EngineKind kind) {
  constexpr uint64_t requestBytes = 4 << 20, blocks = 4096, blocksAtOnce = 32;
  TemporaryFile file(folder);
  SPILLWAY_ASSIGN_OR_RETURN(Arena arena, Arena::allocate(16 * requestBytes, {}));
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, makeEngine(kind));
  std::span<std::byte> memory = arena.bytes();
  // Drives may treat zeros and repetitions faster.
  std::mt19937_64 random(1);
  auto *words = reinterpret_cast<uint64_t *>(memory.data());
  std::generate(words, words + memory.size() / sizeof(uint64_t), random);
  SPILLWAY_RETURN_IF_ERROR(engine->registerMemory({&memory, 1}));
  SPILLWAY_ASSIGN_OR_RETURN(
      int handle, engine->open(file.path, {.access = Access::truncate, .reserve = bytes}));

  // Training rewrites states in place, which is faster than a file's first bytes.
  constexpr Request::Kind fill = Request::write;
  if (Result<double> seconds = measureTransfer(*engine, handle, {&fill, 1}, bytes, requestBytes, memory); !seconds)
    return std::move(seconds.error());

  StorageSpeed speed;
  uint64_t smallBytes = std::min(bytes, blocks * directAlignment);
  for (Request::Kind direction : {Request::write, Request::read}) {
    bool isRead = direction == Request::read;
    SPILLWAY_ASSIGN_OR_RETURN(
        double large, measureTransfer(*engine, handle, {&direction, 1}, bytes, requestBytes, memory));
    SPILLWAY_ASSIGN_OR_RETURN(
        double small, measureTransfer(*engine, handle, {&direction, 1}, smallBytes, directAlignment,
                                      memory.first(blocksAtOnce * directAlignment)));
    SPILLWAY_ASSIGN_OR_RETURN(double latency,
                              measureLatency(*engine, handle, direction, bytes, memory.data()));
    (isRead ? speed.readBytesPerSecond : speed.writeBytesPerSecond) =
        static_cast<double>(bytes) / large;
    (isRead ? speed.readTransfer : speed.writeTransfer) =
        small * directAlignment / static_cast<double>(smallBytes);
    (isRead ? speed.readLatency : speed.writeLatency) = latency;
  }
  constexpr Request::Kind both[] = {Request::read, Request::write};
  SPILLWAY_ASSIGN_OR_RETURN(double seconds, measureTransfer(*engine, handle, both, bytes, requestBytes, memory));
  speed.bothBytesPerSecond = static_cast<double>(bytes) / seconds;
  return speed;
}

} // namespace spillway
