// Names of what an initializer that several nodes read becomes when it is untied.
#pragma once

#include <string>
#include <string_view>

namespace spillway {

/// Of the copy for the node whose first output is `output`.
inline std::string untiedName(std::string_view initializer, std::string_view output) {
  return std::string(initializer) + "@" + std::string(output);
}

} // namespace spillway
