#include "unit/barriers/barrier_watch.hpp"

#include <dlfcn.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cstdarg>
#include <mutex>
#include <utility>

namespace weft::test {
namespace {

std::mutex& hook_mutex() {
  static std::mutex mutex;
  return mutex;
}
std::function<void(BarrierOf)>& hook() {
  static std::function<void(BarrierOf)> function;
  return function;
}
thread_local bool is_inside_hook = false;

void tell(BarrierOf kind) {
  if (is_inside_hook) return;
  std::function<void(BarrierOf)> function;
  {
    const std::lock_guard lock(hook_mutex());
    function = hook();
  }
  if (function == nullptr) return;
  is_inside_hook = true;
  function(kind);
  is_inside_hook = false;
}

}  // namespace

BarrierWatch::BarrierWatch(std::function<void(BarrierOf)> function) {
  const std::lock_guard lock(hook_mutex());
  hook() = std::move(function);
}

BarrierWatch::~BarrierWatch() {
  const std::lock_guard lock(hook_mutex());
  hook() = nullptr;
}

}  // namespace weft::test

/// In the place of the C library's function, in this program.
extern "C" __attribute__((visibility("default"))) long syscall(long number, ...) noexcept {
  using Function = long (*)(long, ...);
  static const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "syscall"));
  long arguments[6];
  va_list list;
  va_start(list, number);
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  if (number == SYS_membarrier && arguments[0] == MEMBARRIER_CMD_PRIVATE_EXPEDITED)
    weft::test::tell(weft::test::BarrierOf::process);
  if (number == SYS_membarrier && arguments[0] == MEMBARRIER_CMD_GLOBAL_EXPEDITED)
    weft::test::tell(weft::test::BarrierOf::job);
  return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}
