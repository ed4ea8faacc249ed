// Objects of each thread that do not lie in the thread-local memory of their library: programs that open
// libraries late, as Python does, have little of it for all of them together.
#pragma once

#include <weft/detail/language.hpp>

#include <new>
#include <utility>

namespace weft {

/// The object of type T of each thread.
template <class T>
class PerThread {
 public:
  /// Makes the object at the first call of the thread. Null while the thread ends, and without memory.
  [[nodiscard]] static T* get() noexcept {
    if (object_ == nullptr && !has_ended_) [[unlikely]]
      make();
    return object_;
  }

 private:
  struct Owner {
    Owner() noexcept { object_ = new (std::nothrow) T; }
    ~Owner() {
      has_ended_ = true;
      delete std::exchange(object_, nullptr);
    }
  };
  [[gnu::cold, gnu::noinline]] static void make() noexcept { static thread_local const Owner owner; }

  static inline constinit thread_local T* object_ = nullptr;
  static inline constinit thread_local bool has_ended_ = false;
};

}  // namespace weft
