// A small model whose step rewrites its states, as a program and in plain C++.
#pragma once

#include "test/Unit/runtime/TestBundle.h"

#include <cmath>

namespace spillway::test {

/// Four states: a weight that is streamed and its moment, in two tiles, and a weight that stays in
/// memory with its moment. And a frozen one, which the step reads and does not use.
enum TrainedState : uint32_t { streamed, streamedMoment, kept, keptMoment, frozen };
inline constexpr uint64_t streamedBytes = 64 * 64 * 4, keptBytes = 32 * 64 * 4;

/// What the states hold, by TrainedState.
struct TrainedValues {
  std::vector<float> states[4];

  static TrainedValues initial() {
    return {{makeFloats(64 * 64, 21), std::vector<float>(64 * 64), makeFloats(32 * 64, 22),
             std::vector<float>(32 * 64)}};
  }

  /// The kernels' step; the loss.
  float step(const std::vector<float> &x, double lr, double number) {
    float loss = 0, sum = x[0] + x[1] + x[2] + x[3];
    for (int i = 0; i < 4; ++i)
      loss = std::fmaf(x[i], states[kept][i], loss);
    for (auto [w, m] : {std::pair(streamed, streamedMoment), std::pair(kept, keptMoment)})
      for (size_t i = 0; i < states[w].size(); ++i) {
        float &moment = states[m][i];
        moment = std::fmaf(0.5f, moment, sum);
        states[w][i] = std::fmaf(static_cast<float>(lr), moment, states[w][i]) +
                       static_cast<float>(number) * 0x1p-10f;
      }
    return loss;
  }

  bool operator==(const TrainedValues &) const = default;
};

inline std::vector<TestState> trainedStates() {
  TrainedValues values = TrainedValues::initial();
  auto state = [&](const char *name, int64_t rows, uint32_t index, bool zero) {
    return TestState{{.type = {name, DataType::f32, {rows, 64}},
                      .chunkBytes = 4096,
                      .rewritten = true,
                      .zero = zero},
                     values.states[index]};
  };
  return {state("w", 64, streamed, false),
          state("w.m", 64, streamedMoment, true),
          state("r", 32, kept, false),
          state("r.m", 32, keptMoment, true),
          {{.type = {"f", DataType::f32, {16, 64}}, .chunkBytes = 4096}, makeFloats(16 * 64, 23)}};
}

inline constexpr Slice batchPlace{Tier::host, 0, 16}, ratePlace{Tier::host, 64, 8},
    numberPlace{Tier::host, 128, 8}, lossPlace{Tier::host, 192, 4},
    keptPlace{Tier::host, 4096, keptBytes}, keptMomentPlace{Tier::host, 12288, keptBytes},
    tilePlace{Tier::host, 20480, streamedBytes / 2},
    tileMomentPlace{Tier::host, 28672, streamedBytes / 2}, frozenPlace{Tier::host, 36864, 4096};

/// The step before may go on with its writes when the next one starts, whose commands wait where they must.
inline void carryWrites(Program &program) {
  for (Command &command : program.step)
    command.isCarried = std::holds_alternative<WriteOperation>(command.operation);
  for (Command &command : program.step)
    for (uint32_t other = 0; other < program.step.size(); ++other) {
      auto *write = std::get_if<WriteOperation>(&program.step[other].operation);
      auto *read = std::get_if<ReadOperation>(&command.operation);
      auto meets = [](const Slice &a, const Slice &b) {
        return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
      };
      bool isSameFile = write && read && read->state == write->state && read->offset == write->offset;
      if (write && read && (isSameFile || meets(read->target, write->source)))
        command.carriedWaits.push_back(other);
    }
}

/// Where `keepsInMemory`, a checkpoint writes the states that stay; else they are read and
/// written by the step as well.
inline Program trainedProgram(bool keepsInMemory, bool carries = false) {
  Program program;
  program.threads = 2;
  program.arenaBytes = {0, 40960};
  program.kernels = {"test_update", "test_loss"};
  program.kernelArguments = {
      {3, 64, {DataType::f32, DataType::f64, DataType::f64, DataType::f32, DataType::f32}},
      {2, 1, {DataType::f32, DataType::f32, DataType::f32}}};
  program.inputs = {{"x", DataType::f32, {4}, batchPlace},
                    {"lr", DataType::f64, {}, ratePlace},
                    {"step", DataType::f64, {}, numberPlace}};
  program.outputs = {{"loss", DataType::f32, {}, lossPlace}};
  auto add = [](std::vector<Command> &list, Command command) {
    list.push_back(std::move(command));
    return static_cast<uint32_t>(list.size() - 1);
  };
  auto read = [](uint32_t state, uint64_t offset, const Slice &target,
                 std::vector<uint32_t> waits) {
    return Command{
        ReadOperation{.state = state, .offset = offset, .bytes = target.bytes, .target = target},
        StreamKind::read, std::move(waits), "read"};
  };
  auto write = [](uint32_t state, uint64_t offset, const Slice &source,
                  std::vector<uint32_t> waits) {
    return Command{
        WriteOperation{.state = state, .offset = offset, .bytes = source.bytes, .source = source},
        StreamKind::write, std::move(waits), "write"};
  };
  auto update = [](const Slice &w, const Slice &m, int64_t row, int64_t rows,
                   std::vector<uint32_t> waits) {
    LaunchOperation launch;
    launch.arguments = {{batchPlace, 0}, {ratePlace, 0}, {numberPlace, 0}, {w, row}, {m, row}};
    launch.begin = row;
    launch.end = row + rows;
    return Command{launch, StreamKind::compute, std::move(waits), "update"};
  };

  std::vector<Command> &step = program.step;
  std::vector<Command> &first = keepsInMemory ? program.prologue : step;
  add(first, read(kept, 0, keptPlace, {}));
  add(first, read(keptMoment, 0, keptMomentPlace, {}));
  std::vector<uint32_t> keptWaits;
  if (!keepsInMemory)
    keptWaits = {0, 1};
  LaunchOperation loss;
  loss.kernel = 1;
  loss.arguments = {{batchPlace, 0}, {keptPlace, 0}, {lossPlace, 0}};
  loss.end = 1;
  add(step, {loss, StreamKind::compute, keptWaits, "loss"});
  std::vector<uint32_t> written, frozenWaits;
  for (uint64_t tile = 0; tile < 2; ++tile) {
    uint64_t offset = tile * streamedBytes / 2;
    uint32_t w = add(step, read(streamed, offset, tilePlace, written));
    uint32_t m = add(step, read(streamedMoment, offset, tileMomentPlace, written));
    uint32_t updated =
        add(step, update(tilePlace, tileMomentPlace, static_cast<int64_t>(tile) * 32, 32, {w, m}));
    written = {add(step, write(streamed, offset, tilePlace, {updated})),
               add(step, write(streamedMoment, offset, tileMomentPlace, {updated}))};
    // The read and the write streams wait for one event.
    frozenWaits.push_back(updated);
    frozenWaits = {add(step, read(frozen, 0, frozenPlace, frozenWaits))};
  }
  uint32_t updated = add(step, update(keptPlace, keptMomentPlace, 0, 32, keptWaits));
  std::vector<Command> &last = keepsInMemory ? program.checkpoint : step;
  std::vector<uint32_t> keptUpdated;
  if (!keepsInMemory)
    keptUpdated = {updated};
  add(last, write(kept, 0, keptPlace, keptUpdated));
  add(last, write(keptMoment, 0, keptMomentPlace, keptUpdated));
  if (carries)
    carryWrites(program);
  return program;
}

} // namespace spillway::test
