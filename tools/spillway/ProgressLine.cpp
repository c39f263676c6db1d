#include "tools/spillway/ProgressLine.h"

#include <fmt/format.h>

#include <cstdio>
#include <unistd.h>

namespace spillway {

namespace {
constexpr const char *clearLine = "\r\x1b[K";
} // namespace

ProgressLine::ProgressLine() : isTerminal_(::isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(const std::string &text, bool isLast) {
  auto now = std::chrono::steady_clock::now();
  if (isTerminal_) {
    fmt::print(stderr, "{}{}{}", clearLine, text, isLast ? "\n" : "");
    return;
  }
  if (!isLast && now - lastShown_ < std::chrono::seconds(1))
    return;
  fmt::print(stderr, "{}\n", text);
  lastShown_ = now;
}

void ProgressLine::note(const std::string &text) {
  fmt::print(stderr, "{}{}\n", isTerminal_ ? clearLine : "", text);
}

} // namespace spillway
