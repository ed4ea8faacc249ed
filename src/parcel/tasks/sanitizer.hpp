// What AddressSanitizer and ThreadSanitizer are told of stacks; nothing in other builds.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_STACKS_UNDER_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define WEFT_STACKS_UNDER_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define WEFT_STACKS_UNDER_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define WEFT_STACKS_UNDER_TSAN 1
#endif

#if defined(WEFT_STACKS_UNDER_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if defined(WEFT_STACKS_UNDER_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace weft::parcel {

#if defined(WEFT_STACKS_UNDER_ASAN)
inline constexpr bool kLooksForLeaks = true;  // in all of a slab: guard pages show in the table of mappings
#else
inline constexpr bool kLooksForLeaks = false;
#endif

/// What suspended tasks own is found through their stacks, and is no leak.
inline void note_stacks([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(WEFT_STACKS_UNDER_ASAN)
  __lsan_register_root_region(memory, bytes);
#endif
}
inline void forget_stacks([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(WEFT_STACKS_UNDER_ASAN)
  __lsan_unregister_root_region(memory, bytes);
  // Of frames that were never left: others will map the addresses.
  __asan_unpoison_memory_region(memory, bytes);
#endif
}

/// A stack as the sanitizers know it.
struct SanitizedStack {
  void* fake = nullptr;          // AddressSanitizer's stack of locals
  const void* bottom = nullptr;  // the lowest address
  std::size_t size = 0;
  void* fiber = nullptr;  // ThreadSanitizer's thread

  void create() noexcept {
#if defined(WEFT_STACKS_UNDER_TSAN)
    fiber = __tsan_create_fiber(0);
#endif
  }
  void destroy() noexcept {
#if defined(WEFT_STACKS_UNDER_TSAN)
    if (fiber != nullptr) __tsan_destroy_fiber(fiber);
    fiber = nullptr;
#endif
  }
  /// Takes the calling thread's own stack for this.
  void adopt() noexcept {
#if defined(WEFT_STACKS_UNDER_TSAN)
    fiber = __tsan_get_current_fiber();
#endif
  }
  /// Before the switch from this to `next`; in a function that ThreadSanitizer does not count.
  [[gnu::always_inline]] void leave([[maybe_unused]] const SanitizedStack& next) noexcept {
#if defined(WEFT_STACKS_UNDER_ASAN)
    __sanitizer_start_switch_fiber(&fake, next.bottom, next.size);
#endif
#if defined(WEFT_STACKS_UNDER_TSAN)
    __tsan_switch_to_fiber(next.fiber, 0);
#endif
  }
  /// After the switch from `last` to this.
  void arrive([[maybe_unused]] SanitizedStack& last) noexcept {
#if defined(WEFT_STACKS_UNDER_ASAN)
    const void* last_bottom = nullptr;
    std::size_t last_size = 0;
    __sanitizer_finish_switch_fiber(fake, &last_bottom, &last_size);
    if (last.bottom == nullptr) {  // a thread's own
      last.bottom = last_bottom;
      last.size = last_size;
    }
#endif
  }
};

}  // namespace weft::parcel
