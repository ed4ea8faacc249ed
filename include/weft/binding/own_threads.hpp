// For libraries that have to know whether other threads of the program may act.
#pragma once

#include <weft/detail/export.hpp>

namespace weft {

/// The number of threads that this library has now and that never act for the program. They come and go. Any
/// thread.
[[nodiscard]] WEFT_API int own_threads() noexcept;

}  // namespace weft
