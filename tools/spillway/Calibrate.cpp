#include "runtime/base/Duration.h"
#include "runtime/base/File.h"
#include "runtime/base/Size.h"
#include "runtime/bundle/Bundle.h"
#include "runtime/executor/Program.h"
#include "runtime/memory/Arena.h"
#include "spillway/Plan/Machine.h"
#include "tools/spillway/Commands.h"
#include "tools/spillway/MeasureCompute.h"
#include "tools/spillway/MeasureStorage.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace spillway {

namespace {
struct CalibrateOptions {
  std::string output;
  std::string folder = ".";
  std::string bytes = "1GiB";
  std::string engine = "auto";
  unsigned threads = 0;
};

/// The share of the multiply-add peak that generated matrix products reach (bench/gemm_bench).
constexpr double kernelShare = 0.85;

Status measureProcessor(unsigned threads, plan::Machine &machine) {
  constexpr uint64_t memoryBytes = uint64_t(512) << 20;
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<ThreadTeam> team, ThreadTeam::create(threads));
  SPILLWAY_ASSIGN_OR_RETURN(Arena arena, Arena::allocate(memoryBytes, {.prefault = true}));
  MultiplyAddPeak peak = measureMultiplyAdd(*team);
  machine.flopsPerThread[DataType::f32] = kernelShare * peak.f32;
  machine.flopsPerThread[DataType::f64] = kernelShare * peak.f64;
  machine.flopsPerThread[DataType::bf16] = kernelShare * peak.bf16;
  machine.launchSeconds = measureLaunch(*team);
  machine.memoryBytesPerSecond = measureMemoryReads(*team, arena.bytes());
  double copy = measureCopy(arena.bytes());
  for (StreamKind stream : {StreamKind::copyUp, StreamKind::copyDown})
    machine.channels[static_cast<size_t>(stream)] = {copy, machine.launchSeconds, 0};
  fmt::print("{} threads: {:.1f} GFlop/s each in f32, {:.1f} in f64, {:.1f} in bf16 ({:.0f} % of "
             "the peak, as kernels reach)\n",
             threads, 1e-9 * machine.flopsPerThread[DataType::f32],
             1e-9 * machine.flopsPerThread[DataType::f64],
             1e-9 * machine.flopsPerThread[DataType::bf16], 100 * kernelShare);
  fmt::print("memory: {:.2f} GB/s; copies {:.2f} GB/s; a launch takes {}\n",
             1e-9 * machine.memoryBytesPerSecond, 1e-9 * copy,
             formatSeconds(machine.launchSeconds));
  return {};
}

Status calibrate(const CalibrateOptions &options) {
  constexpr uint64_t granule = 8 << 20;
  SPILLWAY_ASSIGN_OR_RETURN(uint64_t bytes, parseSize(options.bytes));
  bytes = std::max(granule, bytes / granule * granule);
  SPILLWAY_RETURN_IF_ERROR(requireOutput(options.output));
  SPILLWAY_RETURN_IF_ERROR(requireWritable(std::filesystem::path(options.folder) / "measured"));
  unsigned threads =
      options.threads ? options.threads : std::min(availableProcessors(), maxThreads);
  plan::Machine machine;
  machine.isEstimate = false;
  SPILLWAY_RETURN_IF_ERROR(measureProcessor(threads, machine));
  SPILLWAY_ASSIGN_OR_RETURN(
      StorageSpeed speed,
      measureStorage(options.folder, bytes, *io::engineKindFromName(options.engine)));
  machine.channels[static_cast<size_t>(StreamKind::read)] = {
      speed.readBytesPerSecond, speed.readLatency, speed.readTransfer};
  machine.channels[static_cast<size_t>(StreamKind::write)] = {
      speed.writeBytesPerSecond, speed.writeLatency, speed.writeTransfer};
  machine.driveBytesPerSecond = speed.bothBytesPerSecond;
  fmt::print("drive of '{}': reads {:.2f} GB/s, {} a transfer, {} alone; writes {:.2f} GB/s, {} a "
             "transfer, {} alone; both at once {:.2f} GB/s\n",
             options.folder, 1e-9 * speed.readBytesPerSecond, formatSeconds(speed.readTransfer),
             formatSeconds(speed.readLatency), 1e-9 * speed.writeBytesPerSecond,
             formatSeconds(speed.writeTransfer), formatSeconds(speed.writeLatency), 1e-9 * speed.bothBytesPerSecond);
  std::string text = machine.print();
  return writeFileAtomically(options.output, std::as_bytes(std::span(text)));
}
} // namespace

void addCalibrateCommand(CLI::App &app, Status &status) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App *command = app.add_subcommand(
      "calibrate", "Measure this machine, for `compile --machine` and `replan --machine`");
  command->add_option("-o,--output", options->output, "Where to write its description")
      ->type_name("FILE")
      ->required();
  command->add_option("--folder", options->folder, "A folder on the drive that weights stream from")
      ->capture_default_str();
  command->add_option("--bytes", options->bytes, "Size of the file that is written there for a moment")
      ->type_name("SIZE")
      ->capture_default_str();
  command->add_option("--io", options->engine, "How to read and write")
      ->check(CLI::IsMember({"auto", "uring", "pread"}))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Threads that compute (default: all processors)")
      ->check(CLI::Range(1u, maxThreads));
  command->callback([options, &status] { status = calibrate(*options); });
}

} // namespace spillway
