// A file written from its start to its end, with holes.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace spillway {

class OutputFile {
public:
  /// Makes the file, or empties it.
  static Result<OutputFile> create(const std::filesystem::path &path);
  OutputFile(OutputFile &&other);
  ~OutputFile();

  Status append(std::string_view bytes);
  /// Goes on at `offset`, at or after the end; what lies between is a hole of zeros.
  Status skipTo(uint64_t offset);
  uint64_t offset() const { return offset_; }
  /// Nothing may be written any more. A file that is not closed may be incomplete.
  Status close();
  /// Closes it, durable.
  Status closeDurably();

private:
  OutputFile(int descriptor, std::filesystem::path path)
      : descriptor_(descriptor), path_(std::move(path)) {}

  int descriptor_;
  std::filesystem::path path_;
  uint64_t offset_ = 0;
};

} // namespace spillway
