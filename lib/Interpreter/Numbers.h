// Functions of one number.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

namespace spillway {

/// `function` of `x` computed in the next wider type and rounded to T.
template <typename T, typename Function> T elementary(Function function, T x) {
  using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  return static_cast<T>(function(static_cast<Wide>(x)));
}

/// arith.maximumf: NaN where either is, 0 above -0.
template <typename T> T maximum(T a, T b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<T>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
template <typename T> T minimum(T a, T b) { return -maximum(-a, -b); }

} // namespace spillway
