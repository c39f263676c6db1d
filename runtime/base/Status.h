// Errors as values. Nothing in the runtime throws across a public interface,
// aborts on input, or drops the result of a system call.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace spillway {

/// Who has to act on an error. The numbers are the exit codes of every tool.
enum class ErrorKind : int {
  /// The request cannot be carried out as asked: flags, inputs, models, budgets.
  user = 1,
  /// The machine failed or lacks something: I/O, space, permissions, damaged files.
  machine = 2,
  /// An invariant of Spillway itself does not hold.
  bug = 3,
};

struct Error {
  ErrorKind kind = ErrorKind::bug;
  std::string message;
  /// The errno behind it, or 0.
  int systemError = 0;

  /// The same error with `context: ` put before its message.
  Error in(const std::string &context) && {
    message = context + ": " + message;
    return std::move(*this);
  }
};

/// Success or one error.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error &error() const & { return *error_; }
  Error &&error() && { return std::move(*error_); }

private:
  std::optional<Error> error_;
};

/// A value or one error.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : value_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : value_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return value_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T &operator*() & { return std::get<0>(value_); }
  const T &operator*() const & { return std::get<0>(value_); }
  T &&operator*() && { return std::get<0>(std::move(value_)); }
  T *operator->() { return &std::get<0>(value_); }
  const T *operator->() const { return &std::get<0>(value_); }
  const Error &error() const & { return std::get<1>(value_); }
  Error &&error() && { return std::get<1>(std::move(value_)); }

private:
  std::variant<T, Error> value_;
};

template <typename... Args> Error userError(fmt::format_string<Args...> format, Args &&...args) {
  return {ErrorKind::user, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args> Error machineError(fmt::format_string<Args...> format, Args &&...args) {
  return {ErrorKind::machine, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args> Error bugError(fmt::format_string<Args...> format, Args &&...args) {
  return {ErrorKind::bug, fmt::format(format, std::forward<Args>(args)...)};
}
/// `what: strerror(code)`.
Error systemError(int code, const std::string &what);

#define SPILLWAY_CONCAT_(a, b) a##b
#define SPILLWAY_CONCAT(a, b) SPILLWAY_CONCAT_(a, b)

/// Returns the error of `expression`, a Status, to the caller.
#define SPILLWAY_RETURN_IF_ERROR(expression)                                                       \
  do {                                                                                             \
    if (::spillway::Status status_ = (expression); !status_.ok())                                  \
      return std::move(status_).error();                                                           \
  } while (false)

/// Declares `lhs` with the value of `expression`, a Result, or returns its error.
#define SPILLWAY_ASSIGN_OR_RETURN(lhs, expression)                                                 \
  auto SPILLWAY_CONCAT(result_, __LINE__) = (expression);                                          \
  if (!SPILLWAY_CONCAT(result_, __LINE__).ok())                                                    \
    return std::move(SPILLWAY_CONCAT(result_, __LINE__)).error();                                  \
  lhs = *std::move(SPILLWAY_CONCAT(result_, __LINE__))

} // namespace spillway
