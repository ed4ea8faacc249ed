// Memory barriers that one thread executes for all others: membarrier(2).
#pragma once

namespace weft::concurrent {

/// Prepares this process for process_barrier() calls of any process; false where the kernel lacks it.
bool register_process_barrier() noexcept;
/// A full memory barrier in every running thread of every registered process; of this thread only where the
/// kernel lacks it.
void process_barrier() noexcept;
/// The same for the threads of this process.
void private_barrier() noexcept;
/// Whether private_barrier() reaches the others; prepares it.
[[nodiscard]] bool has_private_barrier() noexcept;

}  // namespace weft::concurrent
