// What a message network needs from its transport: a session makes links, credits, handles and classes of it.
#pragma once

#include "network/session/link/message_format.hpp"
#include "network/session/link/received_message.hpp"

#include <weft/types.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::network::session {

class SessionDevice;

/// Result of an attempt to send: accepted, to be tried again, or impossible for good (the peer is marked as
/// left).
enum class Sent : std::uint8_t { yes, later, never };

/// The transport of one device. All calls but those that say otherwise are made under the device's lock.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Makes `link.address` from the address that the peer's device has published. Returns false when the
  /// address cannot be used.
  virtual bool connect(Link& link, std::span<const std::byte> address) noexcept = 0;
  /// Sends a message, whose header and payload are copied.
  virtual Sent transmit(Link& link, const Header& header, Bytes payload) noexcept = 0;
  /// Sends the first `size` bytes of a packet. After Sent::yes the transport gives the packet back to its
  /// owner when the transfer has ended.
  virtual Sent transmit_packet(Link& link, const Header& header, std::uint32_t packet,
                               std::size_t size) noexcept = 0;
  /// What a packet holds, for who copies it into a frame instead and gives the packet back by
  /// release_packet(); nullptr where no frame takes packets.
  [[nodiscard]] virtual const std::byte* content_of_packet(std::uint32_t) const noexcept { return nullptr; }
  virtual void release_packet(std::uint32_t) noexcept {}
  /// Returns room for a frame of frame_bytes(), header included; nullptr when none is free.
  [[nodiscard]] virtual std::byte* take_frame() noexcept = 0;
  [[nodiscard]] virtual std::size_t frame_bytes() const noexcept = 0;
  /// Sends the `size` bytes from `begin` on in the room `frame`. Unless the answer is Sent::later, the room
  /// belongs to the transport again.
  virtual Sent transmit_frame(Link& link, std::byte* frame, std::size_t begin, std::size_t size) noexcept = 0;
  /// Returns false when what is left is for messages that are more urgent than bulk.
  [[nodiscard]] virtual bool has_room_for_bulk() const noexcept = 0;
  /// See Port::offer(), end_offer() and fetch(); a transport that can do it returns true from can_fetch() and
  /// reports each fetch that it has accepted to `device.fetch_completed()`. can_fetch(), offer() and
  /// end_offer() are called by any thread.
  [[nodiscard]] virtual bool can_fetch() const noexcept { return false; }
  [[nodiscard]] virtual Offer offer(Bytes, RegionName) noexcept { return {}; }
  virtual void end_offer(const Offer&) noexcept {}
  virtual AccessResult fetch(Link&, const OfferedMemory&, std::span<std::byte>, std::uint64_t) noexcept {
    return AccessResult::unsupported;
  }
  /// See Port::open_landing(), close_landing() and land(), and Capabilities::landing_bytes. A transport
  /// reports each put that it has accepted to `device.fetch_completed()`, and each that has come, from
  /// drive(), to `device.landed()`. Only land() is called under the lock. Memory of a landing that was closed
  /// may still be written by a peer with which end_connections_with() has not been called.
  [[nodiscard]] virtual std::size_t landing_bytes() const noexcept { return 0; }
  [[nodiscard]] virtual Landing open_landing(std::span<std::byte>) noexcept { return {}; }
  virtual void close_landing(const Landing&) noexcept {}
  virtual AccessResult land(Link&, const RemoteLanding&, Bytes, const Offer&, std::uint64_t) noexcept {
    return AccessResult::unsupported;
  }
  /// See Port::put() and get(): they are called for sizes for which can_access() holds, which any thread
  /// asks, and reported as fetches are. A transport with immediates, of kImmediateBytes, reports each that
  /// has come, from drive(), to `device.immediate_arrived()`.
  static constexpr std::size_t kImmediateBytes = 4;
  [[nodiscard]] virtual bool can_access(std::size_t) const noexcept { return false; }
  virtual AccessResult get(Link&, const RemoteMemory&, std::span<std::byte>, std::uint64_t) noexcept {
    return AccessResult::unsupported;
  }
  virtual AccessResult put(Link&, const RemoteMemory&, Bytes, const std::uint64_t*, std::uint64_t) noexcept {
    return AccessResult::unsupported;
  }
  /// See Port::atomic(); reported as fetches are.
  virtual AccessResult atomic(Link&, const RemoteMemory&, const NativeAtomic&, std::byte*,
                              std::uint64_t) noexcept {
    return AccessResult::unsupported;
  }
  /// Ends the transport: it carries nothing any more, and no fetch writes into memory.
  virtual void stop() noexcept {}
  /// The rank has failed or has left: passes what it has sent to `device.accept()` as far as it has come, and
  /// ends the connections with it.
  virtual void end_connections_with(int rank, SessionDevice& device) noexcept {
    static_cast<void>(rank);
    static_cast<void>(device);
  }
  /// Moves transfers forward and passes each message that has come to `device.accept()`.
  virtual void drive(SessionDevice& device) noexcept = 0;
  /// The part of drive() that is needed to send what has been accepted; may read, delivers nothing.
  virtual void carry(SessionDevice& device) noexcept { drive(device); }
  /// Returns true when carry() may have something to do. Any thread. A transport calls Courier::call() when
  /// that begins.
  [[nodiscard]] virtual bool is_laden() const noexcept { return false; }
  /// Bytes that have been accepted for a peer and have not left.
  struct Unsent {
    std::size_t bytes = 0;
    std::int64_t since = 0;  // of base::now_ns()
  };
  [[nodiscard]] virtual Unsent unsent(const Link&) const noexcept { return {}; }
  /// Returns true while transfers to peers that have not left are under way.
  [[nodiscard]] virtual bool is_carrying() const noexcept = 0;
  /// Returns true when the transport would notice that the peer has ended or cannot be reached any more.
  [[nodiscard]] virtual bool notices_end_of(const Link&) const noexcept { return false; }
  /// Returns true while the peer is being reached: nothing can be sent to it until the transport has called
  /// `device.serve_links_soon()`.
  [[nodiscard]] virtual bool is_reaching(const Link&) const noexcept { return false; }
  /// Returns true when what has been carried reaches peers even if this rank ends before they look for it.
  [[nodiscard]] virtual bool outlives_sender() const noexcept { return false; }

  [[nodiscard]] virtual ReceiveBuffers& buffers() noexcept = 0;

  /// The descriptor that is readable when a message has come; negative when there is none. Any thread.
  [[nodiscard]] virtual int wait_descriptor() const noexcept = 0;
  /// How long a thread may sleep before drive() must be called again.
  [[nodiscard]] virtual std::chrono::nanoseconds longest_sleep() const noexcept {
    return std::chrono::nanoseconds::max();
  }
  /// Returns false when a message has come that drive() has not read. Any thread, before a sleep.
  [[nodiscard]] virtual bool may_sleep() noexcept = 0;
  /// What comes from now on makes the descriptor readable. Before the call of drive() after which threads may
  /// sleep.
  virtual void prepare_sleep() noexcept {}
};

}  // namespace weft::network::session
