#include "concurrent/thread_number.hpp"

#include <weft/detail/device_path.hpp>

#include <mutex>
#include <set>

namespace weft {

constinit thread_local std::uint32_t detail::thread_column = detail::DevicePath::kNoColumn;

namespace concurrent::detail {

namespace {

/// Which numbers are taken. Threads are the process's, so this is the one thing that cannot belong to a
/// runtime.
struct Registry {
  std::mutex mutex;
  std::set<std::uint32_t> free;
  std::uint32_t next = 0;
};

Registry& registry() {
  static Registry& instance = *new Registry;  // never destroyed: threads may end after static destruction
  return instance;
}

struct Lease {
  std::uint32_t number;
  Lease() {
    Registry& numbers = registry();
    const std::lock_guard lock(numbers.mutex);
    if (numbers.free.empty()) {
      number = numbers.next++;
    } else {
      number = *numbers.free.begin();
      numbers.free.erase(numbers.free.begin());
    }
  }
  ~Lease() {
    Registry& numbers = registry();
    const std::lock_guard lock(numbers.mutex);
    numbers.free.insert(number);
  }
};

}  // namespace

std::uint32_t take_thread_number() noexcept {
  thread_local const Lease lease;
  weft::detail::thread_column = lease.number % weft::detail::DevicePath::kNoColumn;
  return lease.number;
}

}  // namespace concurrent::detail
}  // namespace weft
