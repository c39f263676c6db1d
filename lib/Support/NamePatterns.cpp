#include "spillway/Support/NamePatterns.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace spillway;

FailureOr<NamePatterns> NamePatterns::parse(Location location, StringRef what, ArrayRef<std::string> patterns) {
  NamePatterns result;
  for (const std::string &pattern : patterns) {
    std::string error;
    if (!result.patterns_.emplace_back("^(" + pattern + ")$").isValid(error))
      return emitError(location) << what << " '" << pattern << "' is no regular expression: " << error;
  }
  return result;
}

bool NamePatterns::match(StringRef name) const {
  return llvm::any_of(patterns_, [&](const llvm::Regex &pattern) { return pattern.match(name); });
}
