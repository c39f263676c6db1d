#include "tools/spillway/MetricsLog.h"
#include "runtime/base/File.h"

#include <cerrno>
#include <limits>
#include <sstream>

namespace spillway {

namespace {
/// Of a file that need not be there.
Result<std::istringstream> linesOf(const std::filesystem::path &path) {
  std::error_code code;
  if (!std::filesystem::exists(path, code) && !code)
    return std::istringstream();
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, readFile(path, std::numeric_limits<uint64_t>::max()));
  return std::istringstream(std::string(reinterpret_cast<const char *>(bytes.data()), bytes.size()));
}
} // namespace

Result<MetricsLog> MetricsLog::open(const std::filesystem::path &path, uint64_t committed,
                                    const std::string &lastLine) {
  std::string kept;
  bool hasLast = lastLine.empty();
  if (committed != 0) {
    SPILLWAY_ASSIGN_OR_RETURN(std::istringstream lines, linesOf(path));
    for (std::string line; std::getline(lines, line);) {
      auto values = nlohmann::json::parse(line, nullptr, false);
      if (!values.is_object())
        continue;
      auto step = values.find("step");
      if (step == values.end() || !step->is_number_unsigned() || step->get<uint64_t>() > committed)
        continue;
      kept += line + "\n";
      hasLast |= *step == committed;
    }
    if (!hasLast)
      kept += lastLine + "\n";
  }
  SPILLWAY_RETURN_IF_ERROR(writeFileAtomically(path, std::as_bytes(std::span(kept))));
  std::FILE *file = std::fopen(path.c_str(), "ae");
  if (!file)
    return systemError(errno, fmt::format("cannot open '{}'", path.string()));
  return MetricsLog(path, file);
}

Status MetricsLog::append(const nlohmann::ordered_json &line) {
  std::string text = line.dump() + "\n";
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() ||
      std::fflush(file_.get()) != 0)
    return systemError(errno, fmt::format("cannot write '{}'", path_.string()));
  return {};
}

} // namespace spillway
