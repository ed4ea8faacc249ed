#include "concurrent/thread_number.hpp"

#include <weft/detail/device_path.hpp>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <mutex>

namespace weft {

constinit thread_local std::uint32_t detail::thread_column = detail::DevicePath::kNoColumn;

namespace concurrent::detail {

namespace {

// True once the thread has released its number: it then only runs destructors, of keys that come after ours
// and, in the main thread, of statics.
constinit thread_local bool has_ended = false;

void end_of_thread(void* number_plus_one) noexcept;

/// The numbers that are in use. Threads belong to the process, so this is the one object that cannot belong
/// to a runtime.
class Registry {
 public:
  /// Returns a number for the calling thread. A number below kReusedNumbers belongs to it until release().
  std::uint32_t take() noexcept {
    const std::lock_guard lock(mutex_);
    if (!has_ended && has_key()) {
      std::uint32_t number = lowest_free();
      if (number == kNone && release_those_of_the_dead()) number = lowest_free();
      // If the key's value cannot be set, the end of the thread would not be noticed.
      if (number != kNone && ::pthread_setspecific(key_, as_value(number)) == 0) {
        taken_[number / 64] |= std::uint64_t{1} << number % 64;
        owners_[number] = current_thread();
        used_.store(std::max(used_.load(std::memory_order_relaxed), number + 1), std::memory_order_relaxed);
        return number;
      }
    }
    // A number that no thread has used before, and that is used again only after all others.
    const std::uint32_t number = next_;
    next_ = number == kLast ? kReusedNumbers : number + 1;
    return number;
  }
  void release(std::uint32_t number) noexcept {
    const std::lock_guard lock(mutex_);
    free(number);
  }
  [[nodiscard]] std::uint32_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  /// Called before this code may be unloaded; from then on threads get numbers that are not used again.
  void end() noexcept {
    const std::lock_guard lock(mutex_);
    if (key_state_ == KeyState::made) ::pthread_key_delete(key_);
    key_state_ = KeyState::none;
  }

 private:
  enum class KeyState : std::uint8_t { unmade, made, none };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  // Larger values, and a number plus one, have other meanings elsewhere.
  static constexpr std::uint32_t kLast = kNone - 8;
  static constexpr std::uint32_t kLooksForTheDead = 16;

  static void* as_value(std::uint32_t number) noexcept {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number) + 1);
  }
  static pid_t current_thread() noexcept { return static_cast<pid_t>(::syscall(SYS_gettid)); }

  bool has_key() noexcept {
    if (key_state_ == KeyState::unmade)
      key_state_ = ::pthread_key_create(&key_, &end_of_thread) == 0 ? KeyState::made : KeyState::none;
    return key_state_ == KeyState::made;
  }
  [[nodiscard]] std::uint32_t lowest_free() const noexcept {
    for (std::uint32_t word = 0; word < taken_.size(); ++word)
      if (~taken_[word] != 0) return word * 64 + static_cast<std::uint32_t>(std::countr_one(taken_[word]));
    return kNone;
  }
  void free(std::uint32_t number) noexcept { taken_[number / 64] &= ~(std::uint64_t{1} << number % 64); }
  /// Frees numbers of threads that have ended without releasing them: threads that use weft for the first
  /// time in the last round of their keys' destructors. Called when numbers run out, and then not by every
  /// thread. Returns true when it has freed one.
  bool release_those_of_the_dead() noexcept {
    if (shortages_++ % kLooksForTheDead != 0) return false;
    bool found = false;
    for (std::uint32_t number = 0; number < kReusedNumbers; ++number) {
      // If the kernel has no such thread, the thread has executed its last instruction.
      if (::syscall(SYS_tgkill, ::getpid(), owners_[number], 0) == 0 || errno != ESRCH) continue;
      free(number);
      found = true;
    }
    return found;
  }

  std::mutex mutex_;
  KeyState key_state_ = KeyState::unmade;
  pthread_key_t key_ = 0;
  std::array<std::uint64_t, kReusedNumbers / 64> taken_{};
  std::array<pid_t, kReusedNumbers> owners_{};
  std::atomic<std::uint32_t> used_{0};
  std::uint32_t next_ = kReusedNumbers;
  std::uint32_t shortages_ = 0;
};

Registry& registry() {
  static Registry& instance = *new Registry;  // never destroyed: threads may end after static destruction
  return instance;
}

/// Ends the registry when the library is unloaded or the process ends.
struct RegistryEnd {
  ~RegistryEnd() { registry().end(); }
} const registry_end;

/// Runs among the destructors of the thread's keys, after those of its thread_locals. From here on the thread
/// has no number, and gets a new one if it still needs one.
void end_of_thread(void* number_plus_one) noexcept {
  has_ended = true;
  detail::number_plus_one = 0;
  registry().release(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(number_plus_one) - 1));
}

}  // namespace

std::uint32_t take_thread_number() noexcept {
  const std::uint32_t number = registry().take();
  weft::detail::thread_column = number % weft::detail::DevicePath::kNoColumn;
  return number;
}

}  // namespace concurrent::detail

std::uint32_t concurrent::thread_numbers_used() noexcept { return detail::registry().used(); }

}  // namespace weft
