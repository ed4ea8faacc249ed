#include <weft/detail/bias.hpp>

#include "concurrent/process_barrier.hpp"

#include <thread>

namespace weft::detail {

void ProcessThreads::barrier() noexcept { concurrent::private_barrier(); }
bool ProcessThreads::have_barrier() noexcept { return concurrent::has_private_barrier(); }
void ProcessThreads::yield() noexcept { std::this_thread::yield(); }

}  // namespace weft::detail
