// Times as people write them.
#pragma once

#include <string>

namespace spillway {

/// In s, ms or us, with four digits: "1.071 s", "12.35 ms", "8 us".
std::string formatSeconds(double seconds);

/// Of minutes and more, in two units: "45 s", "2 min 5 s", "1 h 20 min", "3 d 4 h".
std::string formatLongTime(double seconds);

} // namespace spillway
