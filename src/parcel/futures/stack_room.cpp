// Whether a coroutine may begin on this stack.
#include <weft/parcel/future.hpp>

#include <pthread.h>

#include <cstdint>

#include "parcel/tasks/task_stack.hpp"

namespace weft::parcel::detail {

namespace {

// Left for the coroutine's own calls.
constexpr std::uintptr_t kRoom = 32 * 1024;

struct Bounds {
  std::uintptr_t lowest = 0;
  std::uintptr_t end = 0;
};

[[gnu::noinline]] const Bounds& bounds_of_thread() noexcept {
  static thread_local const Bounds bounds = [] {
    Bounds found;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return found;
    void* lowest = nullptr;
    std::size_t size = 0;
    if (pthread_attr_getstack(&attributes, &lowest, &size) == 0) {
      found.lowest = reinterpret_cast<std::uintptr_t>(lowest);
      found.end = found.lowest + size;
    }
    pthread_attr_destroy(&attributes);
    return found;
  }();
  return bounds;
}

}  // namespace

bool has_room_for_coroutine() {
  if (const TaskStack* const task = TaskStack::current(); task != nullptr)
    return task->room() > task->size() / 4;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const Bounds& bounds = bounds_of_thread();
  if (here >= bounds.end || here < bounds.lowest) return true;
  if (here - bounds.lowest > kRoom) [[likely]]
    return true;
  throw Error(
      "coroutines have begun one another until the stack of a thread that is no worker was used up: begin "
      "the first one with Runtime::run(), whose tasks go on with them");
}

}  // namespace weft::parcel::detail
