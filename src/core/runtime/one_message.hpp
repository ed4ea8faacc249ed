// What a call that waits for the end of one operation is told.
#pragma once

#include <weft/completion/completion.hpp>

#include <atomic>
#include <utility>

namespace weft::detail {

/// Keeps one message, for a thread that waits for it.
class OneMessage final : public Completion {
 public:
  ~OneMessage() override { withdraw(); }
  void signal(Message& message) noexcept override {
    message_ = std::move(message);
    // Pairs with the acquire in ready().
    arrived_.store(true, std::memory_order_release);
    notify_waiters_of(this);
  }
  [[nodiscard]] bool ready() const noexcept override { return arrived_.load(std::memory_order_acquire); }
  [[nodiscard]] Message take() noexcept { return std::move(message_); }

 private:
  Message message_;
  std::atomic<bool> arrived_{false};
};

}  // namespace weft::detail
