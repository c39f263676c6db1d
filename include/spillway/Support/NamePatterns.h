// Names that regular expressions choose.
#pragma once

#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/Regex.h"

#include <string>
#include <vector>

namespace spillway {

class NamePatterns {
public:
  /// POSIX, extended. One that is no regular expression is diagnosed as one of `what`.
  static mlir::FailureOr<NamePatterns> parse(mlir::Location location, llvm::StringRef what,
                                             llvm::ArrayRef<std::string> patterns);

  /// Whether one of them matches the whole name.
  bool match(llvm::StringRef name) const;

  /// Diagnoses a pattern that has matched none of the names so far; `names` says what these are: "parameter".
  mlir::LogicalResult requireMatches(mlir::Location location, llvm::StringRef names) const;

private:
  struct Pattern {
    std::string text;
    llvm::Regex regex;
    mutable bool hasMatched = false;
  };

  std::string what_;
  std::vector<Pattern> patterns_;
};

} // namespace spillway
