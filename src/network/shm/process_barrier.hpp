// Memory barriers that one thread executes for all others: membarrier(2).
#pragma once

namespace weft::network::shm {

/// Prepares this process for process_barrier() calls of any process; false where the kernel lacks it.
bool register_process_barrier() noexcept;
/// A full memory barrier in every running thread of every registered process; of this thread only where the
/// kernel lacks it.
void process_barrier() noexcept;
/// The same for the threads of this process.
void private_barrier() noexcept;

}  // namespace weft::network::shm
