// What became of cases, against what was expected.
#pragma once

#include "runtime/base/Status.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace spillway {

/// Names of cases and why each of them fails.
using ExpectedFailures = std::map<std::string, std::string>;

/// Adds the lines of a file, `NAME REASON` each; empty ones and those that begin with # say nothing.
Status readExpectedFailures(const std::filesystem::path &file, ExpectedFailures &failures);

class VerifyReport {
public:
  explicit VerifyReport(ExpectedFailures expected) : expected(std::move(expected)) {}

  /// Prints what became of a case. A listed one that fails is skipped, unless the machine or Spillway
  /// itself failed; one that passes fails.
  void add(const std::filesystem::path &folder, Status status);
  /// Prints the counts; an error where a case failed.
  Status finish() const;
  /// The same for tools that read JUnit's XML.
  Status write(const std::filesystem::path &file) const;

private:
  enum class Outcome { passed, failed, skipped };
  struct Entry {
    std::filesystem::path folder;
    Outcome outcome;
    std::string message;
  };
  size_t count(Outcome outcome) const;

  ExpectedFailures expected;
  std::vector<Entry> entries;
};

} // namespace spillway
