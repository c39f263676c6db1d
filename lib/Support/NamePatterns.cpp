#include "spillway/Support/NamePatterns.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace spillway;

FailureOr<NamePatterns> NamePatterns::parse(Location location, StringRef what, ArrayRef<std::string> patterns) {
  NamePatterns result;
  result.what_ = what.str();
  for (const std::string &pattern : patterns) {
    std::string error;
    result.patterns_.push_back({pattern, llvm::Regex("^(" + pattern + ")$")});
    if (!result.patterns_.back().regex.isValid(error))
      return emitError(location) << what << " '" << pattern << "' is no regular expression: " << error;
  }
  return result;
}

bool NamePatterns::match(StringRef name) const {
  bool found = false;
  for (const Pattern &pattern : patterns_)
    if (pattern.regex.match(name))
      found = pattern.hasMatched = true;
  return found;
}

LogicalResult NamePatterns::requireMatches(Location location, StringRef names) const {
  for (const Pattern &pattern : patterns_)
    if (!pattern.hasMatched)
      return emitError(location) << what_ << " '" << pattern.text << "' matches the whole name of no " << names;
  return success();
}
