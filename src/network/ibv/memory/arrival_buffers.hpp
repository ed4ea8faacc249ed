// Buffers in which messages are received, from all peers of a device.
#pragma once

#include "concurrent/mpsc_list.hpp"
#include "network/ibv/verbs/rdma_device.hpp"
#include "network/session/link/received_message.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace weft::network::ibv {

struct ReceiveBuffer : session::ReceivedMessage {
  std::uint32_t key = 0;  // of the registration
};

/// All receive buffers of a device. Each is posted, or waits for its delivery, or is free. Messages whose
/// payload is kept by the program are copied, so that no buffer waits for the program.
class IbvReceiveBuffers final : public session::ReceiveBuffers {
 public:
  /// `size`: of one buffer. `copier` keeps payloads.
  IbvReceiveBuffers(Device& device, std::size_t size, detail::PayloadLender& copier) noexcept
      : device_(device), size_(size), copier_(copier) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  void grow(std::uint32_t count, std::uint32_t held) override;
  void release(session::ReceivedMessage& message) noexcept override { free_.put(message); }
  [[nodiscard]] detail::PayloadLender& copier() noexcept override { return copier_; }
  PayloadOwner* keep(const std::byte*& data, std::size_t size, std::uint64_t& cookie) noexcept override {
    return copier_.keep(data, size, cookie);
  }

  /// Posts free buffers to the queue, as far as it has room, in batches. One thread at a time.
  void post_to(ibv_srq& queue) noexcept;

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* memory) const noexcept;
  };
  struct Slab {
    std::unique_ptr<std::byte[], Unmap> memory;
    std::unique_ptr<ReceiveBuffer[]> buffers;
    Registration registration;  // ends before the memory
  };

  [[nodiscard]] ReceiveBuffer* take_unposted() noexcept;

  Device& device_;
  const std::size_t size_;
  detail::PayloadLender& copier_;
  std::vector<Slab> slabs_;
  concurrent::MpscList<session::ReceivedMessage> free_;
  session::ReceivedMessage* unposted_ = nullptr;  // taken out of the list
};

}  // namespace weft::network::ibv
