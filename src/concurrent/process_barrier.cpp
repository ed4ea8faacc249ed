#include "concurrent/process_barrier.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <atomic>

namespace weft::concurrent {

namespace {

bool membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

}  // namespace

bool register_process_barrier() noexcept {
  return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) &&
         membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

void process_barrier() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

bool has_private_barrier() noexcept {
  static const bool registered = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  return registered;
}

void private_barrier() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) {
    // A system call filter that was installed later forbids the call. Wait instead: no processor keeps a
    // store to itself for so long.
    const timespec moment{0, 1'000'000};
    ::nanosleep(&moment, nullptr);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace weft::concurrent
