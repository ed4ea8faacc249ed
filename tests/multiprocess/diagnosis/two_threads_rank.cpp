// Two threads that use one SerialEndpoint at the same time, in a program with assertions.
#undef NDEBUG
#include <weft/weft.hpp>

#include <pthread.h>

#include <atomic>
#include <thread>

int main() {
  weft::Runtime runtime;
  weft::SerialEndpoint endpoint{runtime};
  weft::Counter never;
  const weft::RemoteCompletion remote = runtime.expose(never, {.id = 1});
  // One after the other is allowed.
  std::thread([&] { endpoint.progress(); }).join();
  endpoint.progress();
  std::atomic<bool> is_inside{false};
  std::thread first([&] {
    pthread_setname_np(pthread_self(), "first");
    is_inside = true;
    endpoint.wait(never, 1000);
  });
  std::thread second([&] {
    pthread_setname_np(pthread_self(), "second");
    while (!is_inside) std::this_thread::yield();
    // The first thread is about to wait, or waits.
    for (int post = 0; post < 999; ++post) {
      static_cast<void>(endpoint.post_am(0, remote, {}));
      std::this_thread::yield();
    }
  });
  second.join();
  first.join();
}
