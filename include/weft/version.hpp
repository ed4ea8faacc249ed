#pragma once

#include <weft/detail/export.hpp>

/// The version of the headers. CMakeLists.txt reads the project's version from these three lines.
#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

namespace weft {

/// The version of the library that is linked, as "major.minor.patch". It may differ from the headers' when a
/// program runs with another shared library than it was compiled against.
WEFT_API const char* library_version() noexcept;

}  // namespace weft
