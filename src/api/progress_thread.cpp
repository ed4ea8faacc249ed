#include <weft/progress_thread.hpp>

#include "base/fork_watch.hpp"
#include "core/device/device_state.hpp"

#include <weft/runtime.hpp>
#include <weft/topology.hpp>

#include <atomic>
#include <future>
#include <string>
#include <thread>

namespace weft {

struct ProgressThread::State {
  /// A completion object that only stop() signals: the thread waits for it, and progresses while it waits.
  class Stop final : public Completion {
   public:
    ~Stop() override { withdraw(); }
    void signal(Message&) noexcept override {
      stopped_.store(true, std::memory_order_release);
      notify_waiters_of(this);
    }
    [[nodiscard]] bool ready() const noexcept override { return stopped_.load(std::memory_order_acquire); }

   private:
    std::atomic<bool> stopped_{false};
  };

  State(Endpoint taken, const std::vector<int>& processors)
      : endpoint(std::move(taken)),
        user(endpoint.state().runtime(),
             "ProgressThread (device " + std::to_string(endpoint.state().index()) + ")",
             static_cast<int>(endpoint.state().index())) {
    std::promise<void> bound;
    thread = std::thread([&, this] {
      try {
        if (!processors.empty()) bind_thread(processors);
        bound.set_value();
      } catch (...) {
        bound.set_exception(std::current_exception());
        return;
      }
      progress_until_stopped();
    });
    try {
      bound.get_future().get();
    } catch (...) {
      thread.join();
      throw;
    }
  }

  void progress_until_stopped() noexcept {
    const auto is_stopped = [](const void* context) noexcept {
      return static_cast<const Stop*>(context)->ready();
    };
    detail::EndpointCalls<detail::TryLock>::wait(
        endpoint.state(), {is_stopped, &stop, &stop, {"the end of a progress thread", {}, -1, true}});
  }

  Stop stop;
  Endpoint endpoint;
  detail::RuntimeUser user;  // destroyed before the endpoint, which it names as in use
  std::thread thread;
};

ProgressThread::ProgressThread(Endpoint endpoint, const ProgressThreadOptions& options)
    : state_(std::make_unique<State>(std::move(endpoint), options.processors)) {}

ProgressThread::~ProgressThread() {
  if (base::is_forked_copy()) {
    static_cast<void>(state_.release());  // in a forked child the thread belongs to the parent
    return;
  }
  Message nothing;
  state_->stop.signal(nothing);
  state_->thread.join();
}

}  // namespace weft
