#include "core/protocol/one_sided/accesses.hpp"

#include <weft/completion/completion.hpp>

#include "core/deadline/timeout.hpp"
#include "core/wait/until_accepted.hpp"

#include <atomic>

namespace weft::detail {

namespace {

/// Signals the end of a blocking access to the waiting thread, and passes the signal on.
class Ending final : public Completion {
 public:
  explicit Ending(Completion* next) noexcept : next_(next) {}
  ~Ending() override { set_unnamed(); }  // the thread that made it waits for the end
  void signal(Message& message) noexcept override {
    outcome_ = message.outcome();
    if (next_ != nullptr) next_->signal(message);
    // Pairs with the acquire in ready(): the outcome is visible.
    ended_.store(true, std::memory_order_release);
    notify_waiters_of(this);
  }
  [[nodiscard]] bool ready() const noexcept override { return ended_.load(std::memory_order_acquire); }
  [[nodiscard]] Outcome outcome() const noexcept { return outcome_; }

 private:
  Completion* const next_;
  Outcome outcome_ = Outcome::ok;
  std::atomic<bool> ended_{false};
};

}  // namespace

Status post_access(DeviceState& device, const core::OneSided::Access& access, bool exclusive) {
  if (access.options.timeout.count() != 0) [[unlikely]]
    return device.post_access_within(access, exclusive);
  const Status status =
      device.one_sided().post(access, device.backlog(), DeviceState::in_handler(), exclusive);
  device.observe(access.operation, access.peer, access.options.tag, access.size, status);
  return status;
}

Outcome perform_access(DeviceState& device, core::OneSided::Access access, bool exclusive) {
  Ending ending(access.options.completion);
  const bool is_observed = access.options.completion != nullptr;
  access.options.completion = &ending;
  access.options.may_complete_now = access.options.may_complete_now || !is_observed;
  access.options.may_retry = true;
  const TimeLeft time_left(access.options.timeout);
  const WaitPlace place{access.operation == Operation::put   ? "a put"
                        : access.operation == Operation::get ? "a get"
                                                             : "an atomic operation",
                        {},
                        access.peer};
  const Status status = device.until_accepted(
      [&] {
        access.options.timeout = time_left.left();
        return post_access(device, access, exclusive);
      },
      place, exclusive);
  if (status.is_done()) return Outcome::ok;
  device.wait_for(ending, place, exclusive);
  if (!is_observed && ending.outcome() != Outcome::ok)
    device.one_sided().count_failure(access.operation, access.where, access.size, ending.outcome());
  return ending.outcome();
}

}  // namespace weft::detail
