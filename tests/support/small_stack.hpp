// Calls that have as little stack as the platform gives to a thread.
#pragma once

#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace weft::test {

/// 16 KiB, or what the platform wants at least, where code is optimised. Without optimisation, and under
/// sanitizers, a frame takes several times as much: ten times the room keeps what is tested, a bound that
/// does not depend on how long a chain is. So do the frames of libfabric.
[[nodiscard]] inline std::size_t small_stack() {
  const long least = ::sysconf(_SC_THREAD_STACK_MIN);
  const char* const network = std::getenv("WEFT_NETWORK");
  if (network != nullptr && (std::string_view(network) == "ofi" || std::string_view(network) == "mixed"))
    return std::size_t{1} << 20;
  const auto small = std::max<std::size_t>(16384, least > 0 ? static_cast<std::size_t>(least) : 0);
#if defined(NDEBUG) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  return small;
#else
  return 10 * small;
#endif
}

/// Calls `function` on a thread with that stack, and waits for its end. False: there is no such thread.
template <class Function>
[[nodiscard]] bool on_small_stack(Function& function) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_t thread{};
  const bool is_started =
      pthread_attr_setstacksize(&attributes, small_stack()) == 0 && pthread_create(
                                                                        &thread, &attributes,
                                                                        [](void* call) -> void* {
                                                                          (*static_cast<Function*>(call))();
                                                                          return nullptr;
                                                                        },
                                                                        &function) == 0;
  pthread_attr_destroy(&attributes);
  if (is_started) pthread_join(thread, nullptr);
  return is_started;
}

}  // namespace weft::test
