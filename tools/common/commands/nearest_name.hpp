#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weft::tools {

/// The number of letters that are inserted, left out, replaced, or swapped with their neighbour between the
/// two texts.
std::size_t typing_distance(std::string_view a, std::string_view b);

/// The name that somebody meant who typed `text`: at most two letters differ, and fewer than half of them.
/// Empty when no name is that near.
std::string nearest_name(std::string_view text, std::span<const std::string> names);

/// ": did you mean NAME?", or an empty text.
std::string suggestion(std::string_view text, std::span<const std::string> names);

}  // namespace weft::tools
