#pragma once

#include <filesystem>
#include <fstream>
#include <span>
#include <stdlib.h>
#include <string>

namespace spillway::test {

/// A folder that lives as long as this object.
class TemporaryFolder {
public:
  explicit TemporaryFolder(const std::filesystem::path &parent = std::filesystem::temp_directory_path()) {
    std::string pattern = parent / "spillway-test-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder &) = delete;

  const std::filesystem::path &path() const { return path_; }

private:
  std::filesystem::path path_;
};

inline void writeBytes(const std::filesystem::path &path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()), static_cast<long>(bytes.size()));
}

} // namespace spillway::test
