// A thread that wakes sleepers of one network when another one, which has a descriptor, gets a message.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace weft::network::mixed {

/// So one sleep covers shared memory and sockets. The thread is started by the first sleep, and itself sleeps
/// in the kernel all the time.
class RemoteWatch {
 public:
  /// `wake` is called by the thread of the watch.
  explicit RemoteWatch(std::function<void()> wake) : wake_(std::move(wake)) {}
  ~RemoteWatch();
  RemoteWatch(const RemoteWatch&) = delete;
  RemoteWatch& operator=(const RemoteWatch&) = delete;

  /// Wakes the sleepers once, as soon as the descriptor is readable. Always the same descriptor. Any thread.
  /// Returns false when there is no such thread and none can be started.
  [[nodiscard]] bool arm(int descriptor) noexcept;

 private:
  enum class State : int { unstarted, starting, failed, idle, armed, stopping };

  bool start(int descriptor) noexcept;
  void run(int descriptor) noexcept;

  const std::function<void()> wake_;
  std::atomic<State> state_{State::unstarted};
  int stop_event_ = -1;
  std::thread thread_;
};

}  // namespace weft::network::mixed
