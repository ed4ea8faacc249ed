// Memory barriers that one thread executes for all others: membarrier(2).
#pragma once

namespace weft::concurrent {

/// Prepares this process for process_barrier() calls of any process. Returns false when the kernel lacks the
/// barrier.
bool register_process_barrier() noexcept;
/// A full memory barrier in every running thread of every registered process; in this thread only, when the
/// kernel lacks it.
void process_barrier() noexcept;
/// A full memory barrier in the threads of this process.
void private_barrier() noexcept;
/// Returns true when private_barrier() reaches the other threads. Also prepares the process for it.
[[nodiscard]] bool has_private_barrier() noexcept;

}  // namespace weft::concurrent
