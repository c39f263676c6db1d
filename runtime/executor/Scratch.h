// The file in which values of a step wait, and the checksums of what lies there. Internal to the
// executor.
#pragma once

#include "runtime/executor/Program.h"
#include "runtime/io/Engine.h"
#include "runtime/state/Store.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace spillway {

class Scratch {
public:
  /// Of a program for one process at a time, which both outlive it.
  Scratch(const Program &program, const std::filesystem::path &folder)
      : path_(folder / scratchName), bytes_(program.scratchBytes), sums_(program.offloads()) {}

  bool isNeeded() const { return !sums_.empty(); }
  /// How many values are put there.
  uint32_t offloads() const { return static_cast<uint32_t>(sums_.size()); }

  /// A machine error where the drive has no room for all of it.
  Result<int> openForWriting(io::Engine &engine) const;
  Result<int> openForReading(io::Engine &engine) const;
  /// When it is open: takes its name away.
  Status hide() const;

  /// What an offload puts there.
  void note(uint32_t number, uint64_t checksum) { sums_[number] = checksum; }
  /// A machine error where that is not what comes back.
  Status compare(const RestoreOperation &restore, uint64_t checksum) const;

private:
  std::filesystem::path path_;
  uint64_t bytes_;
  /// By offload. The command that waits for another one finds what that has noted.
  std::vector<uint64_t> sums_;
};

} // namespace spillway
