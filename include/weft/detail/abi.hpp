// The version of the layouts that inlined headers and the library must agree on.
#pragma once

#include <weft/detail/language.hpp>

#include <cstdint>

namespace weft::detail {

/// Changes with every change of the layout of lanes, slots, entries, messages or devices in detail/.
inline constexpr std::uint32_t kAbiVersion = 26;

}  // namespace weft::detail
