#include "perf/measure/forked_ranks.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "base/uninterrupted.hpp"

namespace weft::tools::perf {

SharedMemory::SharedMemory(std::size_t bytes)
    : bytes_(bytes),
      data_(
          ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)) {
  if (data_ == MAP_FAILED) throw Error(std::string("no shared memory: ") + std::strerror(errno));
}

SharedMemory::~SharedMemory() { ::munmap(data_, bytes_); }

SecondProcess::SecondProcess() {
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ < 0) throw Error(std::string("a process cannot be started: ") + std::strerror(errno));
  if (process_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
}

void SecondProcess::run(const std::function<void()>& body) {
  int code = 0;
  try {
    body();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    code = 1;
  }
  std::fflush(nullptr);
  ::_exit(code);
}

int SecondProcess::wait() {
  int status = 0;
  base::uninterrupted([&] { return ::waitpid(process_, &status, 0); });
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace weft::tools::perf
