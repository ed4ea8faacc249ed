#pragma once

#include <cstddef>
#include <span>

namespace weft::tools::perf {

using ByteView = std::span<const std::byte>;
using ByteSpan = std::span<std::byte>;

}  // namespace weft::tools::perf
