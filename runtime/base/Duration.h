// Times as people write them.
#pragma once

#include <string>

namespace spillway {

/// In s, ms or us, with four digits: "1.071 s", "12.35 ms", "8 us".
std::string formatSeconds(double seconds);

} // namespace spillway
