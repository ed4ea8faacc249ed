// co_await on an operation of weft itself.
#pragma once

#include <weft/completion/completion.hpp>
#include <weft/parcel/future.hpp>

#include <atomic>
#include <utility>

namespace weft::parcel {

/// A completion object that a coroutine, or future(), waits for, once:
///
///     weft::parcel::Awaited received;
///     endpoint.post_receive(0, 7, buffer, {.completion = &received});
///     weft::Message message = co_await received.future();
///
/// Something must progress the endpoint's device meanwhile. It may be destroyed once the future is ready.
class Awaited final : public weft::Completion {
 public:
  explicit Awaited(Scheduler* scheduler = Scheduler::current())
      : promise_(scheduler), future_(promise_.future()) {}
  ~Awaited() override { retire(); }

  /// The message with which the operation ends; once.
  [[nodiscard]] Future<weft::Message> future() { return std::move(future_); }

  void signal(weft::Message& message) noexcept override {
    // The object may be gone once the promise is set.
    Promise<weft::Message> promise = std::move(promise_);
    is_done_.store(true, std::memory_order_release);
    promise.set(message.take());
    notify_waiters_of(this);
  }
  [[nodiscard]] bool ready() const noexcept override { return is_done_.load(std::memory_order_acquire); }

 private:
  Promise<weft::Message> promise_;
  Future<weft::Message> future_;
  std::atomic<bool> is_done_{false};
};

}  // namespace weft::parcel
