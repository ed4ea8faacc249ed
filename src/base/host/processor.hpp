#pragma once

namespace weft::base {

/// Returns the family of an AMD processor (25: Zen 3 and 4, 26: Zen 5), 0 on all others.
[[nodiscard]] unsigned amd_family() noexcept;

}  // namespace weft::base
