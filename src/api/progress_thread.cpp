#include <weft/progress_thread.hpp>

#include "core/runtime/device_state.hpp"

#include <atomic>
#include <thread>

namespace weft {

struct ProgressThread::State {
  /// Signalled by nothing but stop(): the thread waits for it, and progresses while it waits.
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

  explicit State(Endpoint taken)
      : endpoint(std::move(taken)), thread([this] { endpoint.wait_ready(stop); }) {}

  Stop stop;
  Endpoint endpoint;
  std::thread thread;
};

ProgressThread::ProgressThread(Endpoint endpoint) : state_(std::make_unique<State>(std::move(endpoint))) {}

ProgressThread::~ProgressThread() {
  Message nothing;
  state_->stop.signal(nothing);
  state_->thread.join();
}

}  // namespace weft
