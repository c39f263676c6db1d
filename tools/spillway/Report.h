// What a run leaves behind for people and programs: `--trace` and `--stats`.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/executor/Recorder.h"
#include "runtime/session/InProcessJob.h"

#include <filesystem>
#include <string>
#include <vector>

namespace spillway {

/// Of every step of a run, in order.
using StepTimes = std::vector<RunTimes>;

/// The prologue, the last step and the last checkpoint as a Chrome trace.
Status writeTrace(const std::filesystem::path &path, Session &session);

/// Times in ms, bandwidths in GB/s (10^9), sizes in bytes: of rank 0, with what each rank read, and
/// the memory of the whole process. `commits` are those of a training.
Status writeStats(const std::filesystem::path &path, InProcessJob &job, const StepTimes &steps,
                  const StepTimes &commits = {});

/// How long the steps took, in one line.
std::string summarize(const StepTimes &steps);

/// The most memory that this process has had resident (VmHWM), in bytes; 0 where
/// the kernel does not say.
uint64_t peakResidentBytes();

/// What this process has had read from disks, by the kernel's count (/proc/self/io), in bytes:
/// whatever was served from the page cache is not in it. 0 where the kernel does not say.
uint64_t diskReadBytes();

} // namespace spillway
