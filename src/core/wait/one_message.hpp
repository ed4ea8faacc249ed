// The completion object of a blocking call: stores the one message that completes it.
#pragma once

#include <weft/completion/completion.hpp>
#include <weft/detail/message_access.hpp>

#include <atomic>
#include <utility>

namespace weft::detail {

/// Stores one message, for a thread that waits until the message has arrived or nothing was posted.
class OneMessage final : public Completion {
 public:
  ~OneMessage() override { set_unnamed(); }
  void signal(Message& message) noexcept override {
    message_ = std::move(message);
    // Pairs with the acquire in ready().
    arrived_.store(true, std::memory_order_release);
    notify_waiters_of(this);
  }
  [[nodiscard]] bool ready() const noexcept override { return arrived_.load(std::memory_order_acquire); }
  [[nodiscard]] Message take() noexcept {
    MessageAccess::must_read(message_);
    return std::move(message_);
  }

 private:
  Message message_;
  std::atomic<bool> arrived_{false};
};

}  // namespace weft::detail
