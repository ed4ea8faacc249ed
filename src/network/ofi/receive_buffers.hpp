// Buffers in which messages are received.
#pragma once

#include "concurrent/mpsc_list.hpp"
#include "network/ofi/libfabric/fabric.hpp"
#include "network/session/link/received_message.hpp"

#include <weft/message.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::network::ofi {

/// Identifies the transfer that a completion belongs to. libfabric owns `raw` while the transfer is under
/// way.
struct Transfer {
  enum class Kind : std::uint8_t { receive, copied, frame, goodbye, packet, access };
  fi_context2 raw{};
  Kind kind = Kind::receive;
};
static_assert(offsetof(Transfer, raw) == 0, "completions name the raw part");

struct ReceiveBuffer : Transfer, session::ReceivedMessage {
  void* descriptor = nullptr;
};

/// All receive buffers of a device. Each is posted, or waits for its delivery, or is held by a message that
/// was kept, or is free. Most of those that a link may need are made when messages come for which there are
/// none.
class OfiReceiveBuffers final : public session::ReceiveBuffers, public PayloadOwner {
 public:
  static constexpr std::uint32_t kAtATime = 12;  // buffers that are made

  /// `size`: of one buffer. `copier` keeps payloads beyond the quota.
  OfiReceiveBuffers(Fabric& fabric, std::size_t size, detail::PayloadLender& copier) noexcept
      : fabric_(fabric), size_(size), stride_((size + 63) / 64 * 64), copier_(copier) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  void grow(std::uint32_t count, std::uint32_t held) override;
  void allow(std::uint32_t count) override { allowed_ += count; }
  /// Makes some of the buffers that grow() and allow() have left for later. Returns false when there are no
  /// more. Throws as grow().
  bool grow_further();
  void release(session::ReceivedMessage& message) noexcept override { free_.put(message); }
  [[nodiscard]] detail::PayloadLender& copier() noexcept override { return copier_; }
  /// Takes all free buffers, linked by `next`. One thread at a time.
  [[nodiscard]] ReceiveBuffer* take_free() noexcept { return static_cast<ReceiveBuffer*>(free_.take_all()); }

  PayloadOwner* keep(const std::byte*& data, std::size_t size, std::uint64_t& cookie) noexcept override;
  std::byte* allocate(std::size_t) noexcept override { return nullptr; }
  void release(std::byte* data, std::size_t size, std::uint64_t cookie) noexcept override;

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* memory) const noexcept;
  };
  struct Slab {
    std::unique_ptr<std::byte[], Unmap> memory;
    std::unique_ptr<ReceiveBuffer[]> buffers;
    Owned<fid_mr> registration;  // ends before the memory
  };

  void make(std::uint32_t count);

  Fabric& fabric_;
  const std::size_t size_;
  const std::size_t stride_;
  detail::PayloadLender& copier_;
  std::vector<Slab> slabs_;
  std::uint32_t allowed_ = 0;  // buffers that may be made when they are needed
  concurrent::MpscList<session::ReceivedMessage> free_;
  std::atomic<std::uint32_t> quota_{0};
  std::atomic<std::uint32_t> held_{0};
};

}  // namespace weft::network::ofi
