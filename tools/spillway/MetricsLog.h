// One line of JSON a step.
#pragma once

#include "runtime/base/Status.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace spillway {

class MetricsLog {
public:
  /// Begins the file anew, or goes on behind the lines of the first `committed` steps: what
  /// follows them was lost with the process that wrote it. A process that ended right behind its last commit has not
  /// written the line of that, `lastLine`, which is added; empty where no log was written.
  static Result<MetricsLog> open(const std::filesystem::path &path, uint64_t committed, const std::string &lastLine);

  Status append(const nlohmann::ordered_json &line);

private:
  struct Closer {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };

  MetricsLog(std::filesystem::path path, std::FILE *file) : path_(std::move(path)), file_(file) {}

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Closer> file_;
};

} // namespace spillway
