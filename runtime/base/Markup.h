// Text in HTML and XML.
#pragma once

#include <string>
#include <string_view>

namespace spillway {

/// `text` as the content of an element or a quoted attribute. Control characters but line ends, which XML has no
/// way to write, become question marks.
std::string escapeMarkup(std::string_view text);

} // namespace spillway
