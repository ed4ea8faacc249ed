// Delivery of received messages to Sink::deliver().
#pragma once

#include "network/network.hpp"
#include "network/session/device/device_context.hpp"
#include "network/session/device/link_credits.hpp"
#include "network/session/link/link.hpp"
#include "network/session/link/links.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::network::session {

/// Delivers outside the device's lock, one thread at a time in each lane. Any thread.
class Delivery {
 public:
  Delivery(DeviceContext& context, Links& links, LinkCredits& credits) noexcept
      : context_(context), links_(links), credits_(credits) {}

  /// A message has come in the lane. Under the device's lock.
  void arrived(Lane& lane, ReceivedMessage& message) noexcept;
  /// Returns true when a message waits for its delivery.
  [[nodiscard]] bool has_pending() const noexcept { return pending_.load(std::memory_order_acquire) != 0; }
  /// Delivers up to about `limit` messages of each lane, in the order of Urgency; returns their number.
  std::size_t deliver_all(Sink& sink, std::size_t limit) noexcept;
  [[nodiscard]] Port::Traffic traffic() const noexcept {
    return {.delivered = delivered_.load(std::memory_order_relaxed),
            .delivered_bytes = delivered_bytes_.load(std::memory_order_relaxed)};
  }

 private:
  struct Visited;
  std::size_t deliver_urgent(Sink& sink, std::size_t limit) noexcept;
  std::size_t deliver_bulk(Sink& sink) noexcept;
  std::size_t deliver(Lane& lane, Sink& sink, std::size_t limit) noexcept;
  bool deliver_single(Lane& lane, ReceivedMessage& buffer, Sink& sink, Visited& delivered) noexcept;
  bool deliver_frame(Lane& lane, ReceivedMessage& buffer, Sink& sink, std::size_t limit,
                     Visited& delivered) noexcept;

  DeviceContext& context_;
  Links& links_;
  LinkCredits& credits_;
  alignas(64) std::atomic<std::uint32_t> pending_{0};  // messages that wait for their delivery, of all lanes
  std::atomic<std::uint32_t> pending_urgent_{0};       // of these, the urgent ones
  std::atomic<Link*> bulk_turn_{nullptr};              // link with which the next delivery of bulk begins
  std::atomic<std::uint64_t> delivered_{0};
  std::atomic<std::uint64_t> delivered_bytes_{0};
};

}  // namespace weft::network::session
