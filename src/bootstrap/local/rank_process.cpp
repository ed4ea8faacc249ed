#include "bootstrap/local/rank_process.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/descriptor.hpp"
#include "base/uninterrupted.hpp"

namespace weft::bootstrap::local {

bool is_running(pid_t process) {
  const base::Descriptor handle{static_cast<int>(::syscall(SYS_pidfd_open, process, 0))};
  if (!handle) return errno != ESRCH && (::kill(process, 0) == 0 || errno == EPERM);
  return !base::is_ready(handle.get(), POLLIN);
}

std::string why_no_rank(pid_t process, int rank, pid_t process_of_rank) {
  return "process " + std::to_string(process) + " asks to join the job as rank " + std::to_string(rank) +
         ", which process " + std::to_string(process_of_rank) +
         " is, and that one still runs: a program that a rank starts is no rank; without WEFT_BOOTSTRAP "
         "in its environment (env -u WEFT_BOOTSTRAP) it runs as a job of its own";
}

}  // namespace weft::bootstrap::local
