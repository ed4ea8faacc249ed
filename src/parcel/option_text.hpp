// Options of the parcel runtime as text.
#pragma once

#include <weft/parcel/options.hpp>

#include <string>

namespace weft::parcel {

/// The options with those that options.text names. Throws weft::Error that names an unknown option, a bad
/// value, and what would be right.
[[nodiscard]] RuntimeOptions parsed(RuntimeOptions options);
[[nodiscard]] std::string text_of(const RuntimeOptions& options);
/// Lines "option NAME=VALUE" of those that all ranks must have in common.
[[nodiscard]] std::string text_of_agreed(const RuntimeOptions& options);

}  // namespace weft::parcel
