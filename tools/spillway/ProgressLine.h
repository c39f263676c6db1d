// What a person who waits sees.
#pragma once

#include <chrono>
#include <string>

namespace spillway {

/// A line on stderr that is replaced by the next one on a terminal; elsewhere a line a second.
class ProgressLine {
public:
  ProgressLine();

  /// Whether it is time for another line.
  bool isDue() const;
  /// The last one ends the line.
  void show(const std::string &text, bool isLast);
  /// Something that stays above the line.
  void note(const std::string &text);

private:
  bool isTerminal_;
  std::chrono::steady_clock::time_point lastShown_{};
};

} // namespace spillway
