#include <weft/error.hpp>
#include <weft/parcel/latch.hpp>

#include <string>

namespace weft::parcel {

Latch::Latch(std::ptrdiff_t expected) : left_(expected) {
  if (expected < 0)
    throw Error("a latch for " + std::to_string(expected) + " arrivals; it must be 0 or more");
}

void Latch::count_down(std::ptrdiff_t count) {
  detail::QueuedWaiter* all = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (count < 0 || count > left_)
      throw Error("a latch that " + std::to_string(left_) + " arrivals are missing to was counted down by " +
                  std::to_string(count));
    left_ -= count;
    if (left_ == 0) all = queue_.pop_all();
  }
  detail::WaiterQueue::notify_all(all);
}

bool Latch::try_wait() const noexcept {
  const std::lock_guard lock(mutex_);
  return left_ == 0;
}

void Latch::wait(const std::source_location& where) {
  if (try_wait()) return;
  detail::QueuedWaiter own({"a latch", this, where});
  {
    const std::lock_guard lock(mutex_);
    if (left_ == 0) return;
    queue_.push(own);
  }
  own.waiter.wait();
}

}  // namespace weft::parcel
