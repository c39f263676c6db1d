#include "runtime/base/Markup.h"

namespace spillway {

std::string escapeMarkup(std::string_view text) {
  std::string result;
  for (char c : text)
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += static_cast<unsigned char>(c) < ' ' && c != '\n' ? '?' : c;
    }
  return result;
}

} // namespace spillway
