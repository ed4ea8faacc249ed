#include <weft/error.hpp>
#include <weft/runtime.hpp>
#include <weft/stream/stream.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "base/fork_watch.hpp"
#include "stream/stream_registry.hpp"

namespace weft {

struct StreamProgressThread::State {
  State(Runtime& runtime, std::chrono::nanoseconds pause)
      : registry(stream::StreamRegistry::of(runtime.state())),
        interval(pause),
        user(runtime, "StreamProgressThread"),
        thread([this] { attend_until_stopped(); }) {}

  void attend_until_stopped() noexcept {
    std::unique_lock lock(mutex);
    while (!is_stopped) {
      lock.unlock();
      const std::size_t done = registry.attend(nullptr);
      lock.lock();
      // A stream with something to do is looked at again at once: its thread may be gone for long.
      if (done == 0 && !is_stopped) stopping.wait_for(lock, interval);
    }
  }

  stream::StreamRegistry& registry;
  const std::chrono::nanoseconds interval;
  std::mutex mutex;  // guards is_stopped
  std::condition_variable stopping;
  bool is_stopped = false;
  const detail::RuntimeUser user;
  std::thread thread;
};

StreamProgressThread::StreamProgressThread(Runtime& runtime, const StreamProgressThreadOptions& options) {
  if (options.interval.count() <= 0)
    throw Error("the interval of a StreamProgressThread is " + std::to_string(options.interval.count()) +
                " ns; it must be more than 0");
  state_ = std::make_unique<State>(runtime, std::chrono::nanoseconds(options.interval.count()));
}

StreamProgressThread::~StreamProgressThread() {
  if (base::is_forked_copy()) {
    static_cast<void>(state_.release());  // in a forked child the thread belongs to the parent
    return;
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_stopped = true;
  }
  state_->stopping.notify_all();
  state_->thread.join();
}

}  // namespace weft
