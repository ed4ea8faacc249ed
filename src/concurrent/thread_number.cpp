#include "concurrent/thread_number.hpp"

#include <mutex>
#include <set>

namespace weft::concurrent::detail {

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
  return lease.number;
}

}  // namespace weft::concurrent::detail
