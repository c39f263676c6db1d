#include "runtime/base/Memory.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>

namespace spillway {

namespace {
constexpr uint64_t unlimited = uint64_t(1) << 63;

/// The number behind `key` in a file of lines.
std::optional<uint64_t> numberIn(const std::filesystem::path &file, std::string_view key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    size_t digits = line.find_first_of("0123456789", key.size());
    if (line.starts_with(key) && digits != std::string::npos)
      return std::strtoull(line.c_str() + digits, nullptr, 10);
  }
  return std::nullopt;
}

/// How a version of control groups tells of memory.
struct GroupFiles {
  /// Ends the number and the controller in the line of a process's group.
  const char *line;
  const char *folder, *limit, *used;
};
constexpr GroupFiles groupFiles[] = {{"0::/", "", "memory.max", "memory.current"},
                                     {":memory:/", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"}};

/// The group of this process below the root of all.
std::filesystem::path ownGroup(const std::filesystem::path &proc, std::string_view mark) {
  std::ifstream lines(proc / "self/cgroup");
  for (std::string line; std::getline(lines, line);)
    if (size_t found = line.find(mark); found != std::string::npos)
      return line.substr(found + mark.size());
  return {};
}

void limitTo(const std::filesystem::path &group, const GroupFiles &files, Memory &memory) {
  std::optional<uint64_t> limit = numberIn(group / files.limit, "");
  if (!limit)
    return;
  uint64_t used = numberIn(group / files.used, "").value_or(0);
  for (const char *readAgain : {"inactive_file ", "active_file "})
    used -= std::min(used, numberIn(group / "memory.stat", readAgain).value_or(0));
  memory.total = std::min(memory.total, *limit);
  memory.available = std::min(memory.available, *limit - std::min(used, *limit));
}

uint64_t anonymousBytes(const std::filesystem::path &proc) {
  uint64_t size = 0, resident = 0, shared = 0;
  std::ifstream(proc / "self/statm") >> size >> resident >> shared;
  return (resident - std::min(resident, shared)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}
} // namespace

Memory machineMemory(const std::filesystem::path &proc, const std::filesystem::path &groups) {
  auto kibibytes = [&](std::string_view key) {
    std::optional<uint64_t> number = numberIn(proc / "meminfo", key);
    return number ? *number * 1024 : unlimited;
  };
  Memory memory{kibibytes("MemTotal:"), kibibytes("MemAvailable:"), anonymousBytes(proc)};
  for (const GroupFiles &files : groupFiles) {
    std::filesystem::path group = groups / files.folder;
    limitTo(group, files, memory);
    for (const std::filesystem::path &name : ownGroup(proc, files.line))
      limitTo(group /= name, files, memory);
  }
  return memory;
}

} // namespace spillway
