// What the fuzzers share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <unistd.h>

/// A reader under test: must return 0, whatever the bytes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace spillway::fuzz {

/// A folder in memory, where there is one, that goes with the process.
class Folder {
public:
  Folder() {
    std::filesystem::path base = "/dev/shm";
    std::error_code code;
    if (!std::filesystem::is_directory(base, code))
      base = std::filesystem::temp_directory_path();
    path_ = base / ("spillway-fuzz-" + std::to_string(::getpid()));
    std::filesystem::create_directory(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path &path() const { return path_; }
  std::filesystem::path write(const std::string &name, std::span<const uint8_t> bytes) const {
    std::filesystem::path file = path_ / name;
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return file;
  }

private:
  std::filesystem::path path_;
};

} // namespace spillway::fuzz
