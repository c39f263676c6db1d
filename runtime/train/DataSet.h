// The samples that a model is trained on.
#pragma once

#include "runtime/executor/Program.h"
#include "runtime/io/Npy.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace spillway {

/// A .npy file for each input, with the samples along dimension 0, in step with each other.
/// Samples are read as they are wanted.
class DataSet {
public:
  /// Opens the files by the name of their input. User errors: an input without a file, or of batches of no samples,
  /// another type or shape than the input's behind dimension 0, files of different numbers of samples. `option` gives files.
  static Result<DataSet> open(std::span<const Binding> inputs,
                              const std::map<std::string, std::filesystem::path> &files, std::string_view option);

  /// In all, and of a batch: the inputs' dimension 0.
  uint64_t samples() const { return samples_; }
  uint64_t batch() const { return batch_; }

  /// Reads a batch of samples into memory of the inputs. A user error where one holds a label that is no class.
  Status load(std::span<const uint64_t> batch,
              const std::function<std::span<std::byte>(const Binding &)> &memoryOf) const;

private:
  struct Column {
    Binding input;
    NpyFile file;
    uint64_t sampleBytes = 0;

    Status requireClasses(uint64_t number, std::span<const std::byte> sample) const;
  };

  std::vector<Column> columns_;
  uint64_t samples_ = 0;
  uint64_t batch_ = 0;
};

} // namespace spillway
