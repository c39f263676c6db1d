#include "tools/spillway-compiler/VerifyReport.h"

#include "runtime/base/File.h"
#include "runtime/base/Markup.h"

#include <algorithm>
#include <cstdio>
#include <span>
#include <string_view>

using namespace spillway;

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string nameOf(const std::filesystem::path &folder) {
  return folder.has_filename() ? folder.filename().string()
                               : folder.parent_path().filename().string();
}

} // namespace

Status spillway::readExpectedFailures(const std::filesystem::path &file, ExpectedFailures &failures) {
  Result<std::vector<std::byte>> bytes = readFile(file, 16 << 20);
  // Skips nothing: a list that cannot be read would let its cases fail without their reasons, and is a mistake of
  // the command line.
  if (!bytes.ok())
    return userError("--expected-failures: {}", bytes.error().message);
  std::string_view text(reinterpret_cast<const char *>(bytes->data()), bytes->size());
  for (unsigned number = 1; !text.empty(); ++number) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#'))
      continue;
    size_t blank = std::min(line.find_first_of(" \t"), line.size());
    std::string name(line.substr(0, blank)), reason(trimmed(line.substr(blank)));
    if (reason.empty())
      return userError("'{}', line {}: '{}' needs a reason", file.string(), number, name);
    if (!failures.emplace(name, reason).second)
      return userError("'{}', line {}: '{}' is listed twice", file.string(), number, name);
  }
  return {};
}

void VerifyReport::add(const std::filesystem::path &folder, Status status) {
  Entry entry{folder, status.ok() ? Outcome::passed : Outcome::failed,
              status.ok() ? "" : status.error().message};
  auto reason = expected.find(nameOf(folder));
  if (reason != expected.end() && status.ok()) {
    entry.outcome = Outcome::failed;
    entry.message = "passes, though it is listed to fail: " + reason->second;
  } else if (reason != expected.end() && status.error().kind == ErrorKind::user) {
    entry.outcome = Outcome::skipped;
    entry.message = reason->second;
  }
  constexpr const char *words[] = {"PASS", "FAIL", "SKIP"};
  fmt::print("{} {}{}{}\n", words[static_cast<int>(entry.outcome)], folder.string(),
             entry.message.empty() ? "" : ": ", entry.message);
  std::fflush(stdout);
  entries.push_back(std::move(entry));
}

size_t VerifyReport::count(Outcome outcome) const {
  return static_cast<size_t>(std::ranges::count(entries, outcome, &Entry::outcome));
}

Status VerifyReport::finish() const {
  size_t failed = count(Outcome::failed);
  fmt::print("{} passed, {} failed, {} skipped\n", count(Outcome::passed), failed,
             count(Outcome::skipped));
  std::fflush(stdout);
  for (const auto &[name, reason] : expected)
    if (std::ranges::none_of(entries, [&](const Entry &entry) { return nameOf(entry.folder) == name; }))
      return userError("'{}' is listed to fail, but is none of the cases", name);
  if (failed)
    return userError("{} of {} cases failed", failed, entries.size());
  return {};
}

Status VerifyReport::write(const std::filesystem::path &file) const {
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"verify\">\n";
  for (const auto &[folder, outcome, message] : entries) {
    xml += fmt::format("<testcase classname=\"{}\" name=\"{}\">",
                       escapeMarkup(folder.parent_path().filename().string()), escapeMarkup(nameOf(folder)));
    if (outcome == Outcome::failed)
      xml += fmt::format("<failure>{}</failure>", escapeMarkup(message));
    if (outcome == Outcome::skipped)
      xml += fmt::format("<skipped message=\"{}\"/>", escapeMarkup(message));
    xml += "</testcase>\n";
  }
  xml += "</testsuite>\n";
  return writeFileAtomically(file, std::as_bytes(std::span(xml)));
}
