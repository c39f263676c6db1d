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

private:
  std::vector<llvm::Regex> patterns_;
};

} // namespace spillway
