#pragma once

#include <weft/detail/language.hpp>

/// Marks the symbols that a shared libweft exports. All others are compiled with hidden visibility. The
/// attribute is the same for static builds and for clients, so that exceptions and type information agree on
/// both sides.
#if defined(__GNUC__)
#define WEFT_API __attribute__((visibility("default")))
#else
#define WEFT_API
#endif
