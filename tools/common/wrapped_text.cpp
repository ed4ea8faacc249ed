#include "common/wrapped_text.hpp"

#include <algorithm>

namespace weft::tools {

std::string wrapped(std::string_view first, std::string_view text, std::size_t width) {
  std::string out(first);
  const std::string indent(first.size(), ' ');
  const std::size_t room = width > first.size() ? width - first.size() : 1;
  while (text.size() > room) {
    const std::size_t blank = text.rfind(' ', room);
    const bool breaks_word = blank == std::string_view::npos || blank == 0;
    const std::size_t length = breaks_word ? room : blank;
    out += std::string(text.substr(0, length)) + "\n" + indent;
    text.remove_prefix(length);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  return out + std::string(text) + "\n";
}

}  // namespace weft::tools
