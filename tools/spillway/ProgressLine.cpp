#include "tools/spillway/ProgressLine.h"

#include "runtime/base/Console.h"

#include <fmt/format.h>

#include <cstdio>
#include <unistd.h>

namespace spillway {

namespace {
constexpr const char *clearLine = "\r\x1b[K";
} // namespace

ProgressLine::ProgressLine() : isTerminal_(::isatty(STDERR_FILENO) == 1) {}

bool ProgressLine::isDue() const {
  auto pause = isTerminal_ ? std::chrono::milliseconds(200) : std::chrono::seconds(1);
  return std::chrono::steady_clock::now() - lastShown_ >= pause;
}

void ProgressLine::show(const std::string &text, bool isLast) {
  spillway::note("{}{}{}", isTerminal_ ? clearLine : "", text, isTerminal_ && !isLast ? "" : "\n");
  lastShown_ = std::chrono::steady_clock::now();
}

void ProgressLine::note(const std::string &text) {
  spillway::note("{}{}\n", isTerminal_ ? clearLine : "", text);
}

} // namespace spillway
