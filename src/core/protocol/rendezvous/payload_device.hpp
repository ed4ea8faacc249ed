// The device that carries out rendezvous transfers for the other devices of its runtime: attribute
// rendezvous_device.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace weft::core {

class Rendezvous;

/// Where the other devices find a device while it is open. Any thread.
class PayloadDevice {
 public:
  /// Keeps the device from closing. Short: only as long as a message is handed over.
  class Visit {
   public:
    explicit Visit(PayloadDevice* entry) noexcept : entry_(entry) {
      if (entry_ == nullptr) return;
      // Ordered before the load of the device; pairs with close(), which has the opposite order: either
      // close() sees the visit and waits, or the visit finds no device.
      entry_->attached_.fetch_add(1, std::memory_order_seq_cst);
      device_ = entry_->device_.load(std::memory_order_seq_cst);
    }
    ~Visit() {
      // Pairs with the acquire in close(): the visit is over.
      if (entry_ != nullptr) entry_->attached_.fetch_sub(1, std::memory_order_release);
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

    /// Returns nullptr when there is no such device, or it is not open.
    [[nodiscard]] Rendezvous* device() const noexcept { return device_; }

   private:
    PayloadDevice* const entry_;
    Rendezvous* device_ = nullptr;
  };

  void open(Rendezvous& device) noexcept { device_.store(&device, std::memory_order_seq_cst); }
  /// Closes the device; returns when no visit is in progress and none can begin.
  void close() noexcept {
    device_.store(nullptr, std::memory_order_seq_cst);
    while (attached_.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
  }

 private:
  std::atomic<Rendezvous*> device_{nullptr};
  std::atomic<std::uint32_t> attached_{0};  // threads in a visit
};

}  // namespace weft::core
