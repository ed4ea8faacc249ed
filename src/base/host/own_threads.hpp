#pragma once

namespace weft::base {

/// Called before a thread of the library's own starts, with 1, and after it has been joined, with -1. Such a
/// thread never takes a message on behalf of the program, so is_only_thread() does not count it. Any thread.
void count_own_thread(int change) noexcept;

}  // namespace weft::base
