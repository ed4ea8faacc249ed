#include "network/mixed/remote_watch.hpp"

#include "base/host/own_threads.hpp"
#include "base/signals_blocked.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <csignal>
#include <system_error>

namespace weft::network::mixed {

RemoteWatch::~RemoteWatch() {
  if (thread_.joinable()) {
    state_.store(State::stopping, std::memory_order_release);
    state_.notify_all();
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(stop_event_, &one, sizeof one);
    thread_.join();
    base::count_own_thread(-1);
  }
  if (stop_event_ >= 0) ::close(stop_event_);
}

bool RemoteWatch::arm(int descriptor) noexcept {
  auto state = State::idle;
  // Pairs with the acquire in run().
  if (state_.compare_exchange_strong(state, State::armed, std::memory_order_acq_rel)) {
    state_.notify_one();
    return true;
  }
  if (state == State::unstarted && state_.compare_exchange_strong(state, State::starting))
    return start(descriptor);
  return state == State::armed;
}

bool RemoteWatch::start(int descriptor) noexcept {
  stop_event_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  try {
    if (stop_event_ >= 0) {
      {
        const base::SignalsBlocked inherited;
        thread_ = std::thread([this, descriptor] { run(descriptor); });
      }
      base::count_own_thread(1);
      state_.store(State::armed, std::memory_order_release);
      state_.notify_one();
      return true;
    }
  } catch (const std::system_error&) {
  }
  state_.store(State::failed, std::memory_order_release);
  return false;
}

void RemoteWatch::run(int descriptor) noexcept {
  for (;;) {
    State state = state_.load(std::memory_order_acquire);
    while (state == State::idle || state == State::starting) {
      state_.wait(state, std::memory_order_acquire);
      state = state_.load(std::memory_order_acquire);
    }
    if (state == State::stopping) return;
    pollfd sources[] = {{descriptor, POLLIN, 0}, {stop_event_, POLLIN, 0}};
    ::poll(sources, 2, -1);
    if (state_.compare_exchange_strong(state, State::idle, std::memory_order_acq_rel)) wake_();
  }
}

}  // namespace weft::network::mixed
