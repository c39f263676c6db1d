#include "spillway/Support/ElementCount.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

std::optional<int64_t> spillway::elementCount(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (size < 0 || llvm::MulOverflow(count, std::max<int64_t>(size, 1), count) ||
        count > maxElementCount)
      return std::nullopt;
  return llvm::is_contained(shape, 0) ? 0 : count;
}
