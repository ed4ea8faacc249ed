// The table of parcelports: weft's own row, and those that the program has registered.
#pragma once

#include <weft/parcel/ports/parcelport_kind.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace weft::parcel {

/// For the life of the process. Throws weft::Error, which names those that there are, or why there is none
/// here.
[[nodiscard]] const ParcelportKind& kind_of(std::string_view name);
/// nullptr: no such name.
[[nodiscard]] const ParcelportKind* find_kind(std::string_view name) noexcept;

/// "a, b or c".
[[nodiscard]] std::string list_of(const std::vector<std::string_view>& names);

}  // namespace weft::parcel
