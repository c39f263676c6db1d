// Values that are no finite numbers.
#pragma once

#include <string>

namespace spillway {

/// What gave the first of each kind; empty where there is none.
struct NotFinite {
  std::string notANumber;
  std::string infinite;
};

} // namespace spillway
