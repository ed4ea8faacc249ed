// The buffers in which messages arrive.
#pragma once

#include "concurrent/intake.hpp"
#include "network/ofi/fabric.hpp"

#include <weft/message.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::network::ofi {

struct Link;

/// What a completion says it is of. libfabric owns `raw` while the transfer is under way.
struct Transfer {
  enum class Kind : std::uint8_t { receive, copied, goodbye, packet, access };
  fi_context2 raw{};
  Kind kind = Kind::receive;
};
static_assert(offsetof(Transfer, raw) == 0, "completions name the raw part");

struct ReceiveBuffer {
  Transfer transfer;
  ReceiveBuffer* next = nullptr;
  Link* link = nullptr;  // whom its message is from
  std::byte* bytes = nullptr;
  void* descriptor = nullptr;
  std::size_t size = 0;  // of its message, header included
};

/// All receive buffers of a device. Each is posted, or waits for its delivery, or is held by a message that
/// was kept, or is free.
class ReceiveBuffers final : public detail::PayloadLender, public PayloadOwner {
 public:
  /// `size`: of one buffer. `copier` keeps payloads beyond the quota.
  ReceiveBuffers(Fabric& fabric, std::size_t size, detail::PayloadLender& copier) noexcept
      : fabric_(fabric), size_(size), stride_((size + 63) / 64 * 64), copier_(copier) {}
  ~ReceiveBuffers();

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Adds `count` buffers, and as many as `held` to what messages may hold. One thread at a time. Throws
  /// weft::Error or std::bad_alloc.
  void grow(std::uint32_t count, std::uint32_t held);
  /// Any thread.
  void give_back(ReceiveBuffer& buffer) noexcept { free_.put(buffer); }
  /// Linked by `next`. One thread at a time.
  [[nodiscard]] ReceiveBuffer* take_free() noexcept { return free_.take_all(); }

  PayloadOwner* keep(const std::byte*& data, std::size_t size, std::uint64_t& cookie) noexcept override;
  std::byte* allocate(std::size_t) noexcept override { return nullptr; }
  void release(std::byte* data, std::size_t size, std::uint64_t cookie) noexcept override;
  /// How a message names its buffer.
  [[nodiscard]] static std::uint64_t cookie_of(const ReceiveBuffer& buffer) noexcept {
    return reinterpret_cast<std::uint64_t>(&buffer);
  }

 private:
  struct Slab {
    std::byte* memory;
    std::size_t bytes;
    std::unique_ptr<ReceiveBuffer[]> buffers;
    Owned<fid_mr> registration;
  };

  Fabric& fabric_;
  const std::size_t size_;
  const std::size_t stride_;
  detail::PayloadLender& copier_;
  std::vector<Slab> slabs_;
  concurrent::Intake<ReceiveBuffer> free_;
  std::atomic<std::uint32_t> quota_{0};
  std::atomic<std::uint32_t> held_{0};
};

}  // namespace weft::network::ofi
