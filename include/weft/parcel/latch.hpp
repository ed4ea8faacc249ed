// A latch for tasks.
#pragma once

#include <weft/parcel/mutex.hpp>

#include <cstddef>

namespace weft::parcel {

/// As std::latch, but a task that waits gives up its worker. It may be destroyed when wait() has returned.
class WEFT_API Latch {
 public:
  /// Throws weft::Error when `expected` is negative.
  explicit Latch(std::ptrdiff_t expected);
  Latch(const Latch&) = delete;
  Latch& operator=(const Latch&) = delete;

  /// Throws weft::Error when `count` is negative or more than what is left.
  void count_down(std::ptrdiff_t count = 1);
  [[nodiscard]] bool try_wait() const noexcept;
  /// Returns when all have counted down.
  void wait(const std::source_location& where = std::source_location::current());
  void arrive_and_wait(std::ptrdiff_t count = 1,
                       const std::source_location& where = std::source_location::current()) {
    count_down(count);
    wait(where);
  }

 private:
  mutable std::mutex mutex_;  // always taken: whoever has seen 0 may destroy the latch
  std::ptrdiff_t left_;
  detail::WaiterQueue queue_;
};

}  // namespace weft::parcel
