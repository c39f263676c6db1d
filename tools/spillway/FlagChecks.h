// Checks of what flags are given.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>

namespace spillway {

/// Whether `text` is a finite number, as strtod reads it, of at least `least`.
inline bool isNumberFrom(double least, const std::string &text, double &number) {
  char *end = nullptr;
  number = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && std::isfinite(number) && number >= least;
}

/// For CLI::Option::check: what is wrong, empty where nothing is.
inline std::string nonNegative(const std::string &text) {
  double number;
  return isNumberFrom(0, text, number) ? "" : fmt::format("'{}' is no number of at least 0", text);
}

inline std::string positive(const std::string &text) {
  double number;
  return isNumberFrom(0, text, number) && number > 0 ? "" : fmt::format("'{}' is no number above 0", text);
}

inline std::string whole(const std::string &text) {
  bool isDigits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return isDigits && text.size() <= 18 ? "" : fmt::format("'{}' is no whole number from 0 to below 10^18", text);
}

} // namespace spillway
