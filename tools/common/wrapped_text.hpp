#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::tools {

/// The width that output for people keeps to.
inline constexpr std::size_t kPageWidth = 100;

/// The text in lines of at most `width` letters, broken at blanks, or within a word that is longer than a
/// line. The first line stands behind `first`, the others behind as many blanks; ends with a newline.
std::string wrapped(std::string_view first, std::string_view text, std::size_t width = kPageWidth);

}  // namespace weft::tools
