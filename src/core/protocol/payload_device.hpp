// The device that moves payloads of large messages for the others of its runtime: attribute
// rendezvous_device.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace weft::core {

class LargeMessages;

/// Where the others find it while it is open. Any thread.
class PayloadDevice {
 public:
  /// Keeps the device from closing. Short: for as long as it takes to hand over a message.
  class Visit {
   public:
    explicit Visit(PayloadDevice* place) noexcept : place_(place) {
      if (place_ == nullptr) return;
      // Ordered before the look at the device; pairs with close(), where it is the other way round: either
      // that one sees the visit and waits, or the visitor finds nothing.
      place_->visitors_.fetch_add(1, std::memory_order_seq_cst);
      device_ = place_->device_.load(std::memory_order_seq_cst);
    }
    ~Visit() {
      // Pairs with the acquire in close(): the visit is over.
      if (place_ != nullptr) place_->visitors_.fetch_sub(1, std::memory_order_release);
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

    /// nullptr: there is none, or it is not open.
    [[nodiscard]] LargeMessages* device() const noexcept { return device_; }

   private:
    PayloadDevice* const place_;
    LargeMessages* device_ = nullptr;
  };

  void open(LargeMessages& device) noexcept { device_.store(&device, std::memory_order_seq_cst); }
  /// Returns when nobody is inside any more, and nobody will come.
  void close() noexcept {
    device_.store(nullptr, std::memory_order_seq_cst);
    while (visitors_.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
  }

 private:
  std::atomic<LargeMessages*> device_{nullptr};
  std::atomic<std::uint32_t> visitors_{0};
};

}  // namespace weft::core
