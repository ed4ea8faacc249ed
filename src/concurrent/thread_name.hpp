#pragma once

#include <cstdint>
#include <string>

namespace weft::concurrent {

/// "'name' (0x7f...)": the name of a thread that lives, as the system shows it, and its pthread_t. `mark` is
/// that of detail::ProcessThreads.
[[nodiscard]] std::string name_of_thread(std::uintptr_t mark);

}  // namespace weft::concurrent
