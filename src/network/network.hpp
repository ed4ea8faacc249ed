// What the core asks of a network. A backend is a folder below this one.
#pragma once

#include "network/wide_slots.hpp"

#include <weft/detail/device_path.hpp>
#include <weft/detail/direct_window.hpp>
#include <weft/detail/message_access.hpp>
#include <weft/detail/slot_run.hpp>
#include <weft/message.hpp>
#include <weft/types.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace weft::network {

/// Traffic classes with buffers of their own: none waits behind another one that is not consumed.
enum class TrafficClass : std::uint8_t {
  data,     // messages of the class normal
  control,  // of protocols, and always taken
  urgent,   // messages of the class control
  bulk,     // messages of the class bulk
  chunks,   // payloads of large messages; always taken
};
inline constexpr std::size_t kTrafficClasses = 5;

/// In which order a poll delivers what has arrived: all of the first, then of the second, and of the last at
/// most kBulkPerPoll messages, from all peers together.
enum class Urgency : std::uint8_t { first, usual, last };
inline constexpr std::size_t kUrgencies = 3;
inline constexpr std::size_t kBulkPerPoll = 8;
[[nodiscard]] constexpr Urgency urgency_of(TrafficClass traffic) noexcept {
  switch (traffic) {
    case TrafficClass::urgent:
      return Urgency::first;
    case TrafficClass::bulk:
    case TrafficClass::chunks:
      return Urgency::last;
    case TrafficClass::data:
    case TrafficClass::control:
      break;
  }
  return Urgency::usual;
}

/// A message on its way out. `channel` and `word` are the protocol's; the network carries them.
struct Outgoing {
  int peer;
  std::uint8_t device;  // of the peer
  TrafficClass traffic;
  std::uint8_t channel;
  bool to_handle;  // `word` starts with a handle that must be open at the peer
  std::uint64_t word;
  bool keeps_room = false;  // others wait behind this one: inlined posts shall not overtake them
  bool in_order = false;    // better where it arrives in the order in which its kind was sent
};

enum class SendResult : std::uint8_t {
  sent,
  no_slot,
  no_credit,
  lock_contended,
  not_ready,
  peer_gone,  // the peer has left the job: nothing will ever arrive there
};

/// What a network delivers to.
class Sink {
 public:
  /// `message` views the payload; whoever keeps it beyond the call uses Message::take(). Its tag is the low
  /// half of `word`. False: the message cannot be taken now; it stays where it is, and so does what is
  /// behind it.
  virtual bool deliver(std::uint8_t channel, std::uint64_t word, Message& message) noexcept = 0;
  /// Whether an active message would be taken now, and its delivery if so, which then cannot fail: for
  /// networks that need the place of the message again before its handler runs.
  [[nodiscard]] virtual bool takes_active_messages() const noexcept { return false; }
  virtual void take_active_message(std::uint64_t, Message&) noexcept {}
  /// The same for the messages of a run, one after the other, as far as they can be taken. `lender` can keep
  /// their payloads. A network that has several gives the sink the chance to do once what they have in
  /// common.
  virtual void deliver_run(detail::SlotRun& run, detail::PayloadLender* lender) noexcept {
    deliver_each(run, lender);
  }
  /// The same for messages in several slots each.
  virtual void deliver_run(detail::WideRun& run, detail::PayloadLender* lender) noexcept {
    deliver_each(run, lender);
  }
  /// The peer wrote something impossible; the message was discarded.
  virtual void reject(int peer, const char* what, std::uint64_t value) noexcept = 0;

  /// An own put or get that was answered with posted has ended: ok, refused or peer_failed. A put that ended
  /// well is visible at the target.
  virtual void access_ended(std::uint64_t token, Outcome outcome) noexcept = 0;
  /// The immediate of a put whose bytes are visible here.
  virtual void immediate_arrived(std::uint64_t immediate) noexcept = 0;

 protected:
  ~Sink() = default;
  template <class Run>
  void deliver_each(Run& run, detail::PayloadLender* lender) noexcept {
    std::uint64_t word = 0;
    Bytes payload;
    for (; run.look(word, payload); run.advance()) {
      Message message;
      detail::MessageAccess::set_view(message, Operation::active_message, run.peer(),
                                      static_cast<std::uint32_t>(word), payload.data(), payload.size(),
                                      lender, 0);
      if (!deliver(run.channel(), word, message)) return;
    }
  }
};

/// What senders know of a peer's handle.
enum class HandleState : std::uint8_t {
  open,
  stopped,    // senders shall stop
  withdrawn,  // what is sent is refused on arrival
};

struct Capabilities {
  std::size_t inline_bytes = 0;     // up to here send() is cheaper than a packet
  bool can_read = false;            // read() works between ranks of this network
  std::size_t immediate_bytes = 0;  // of what put() can announce to the target: 0, 4 or 8
  bool keeps_order = false;         // of messages between two devices in one traffic class
};

/// Sizes up to here are not added up: inlined posts send them.
inline constexpr std::size_t kShortMessage = detail::kSlotPayload;

/// send() takes payloads of this size from every protocol, however small inline_bytes is.
inline constexpr std::size_t kSmallestSend = 64;

/// A region of a rank as the wire names it; a stale generation is refused.
struct RegionName {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
};

/// What a network adds to the name of a region so that peers can reach it without its owner's help.
struct RegionKeys {
  std::uint64_t address = 0;
  std::uint64_t key = 0;
};

/// Bytes of a peer's region, from `offset` on. `region_size` is what the owner said of it.
struct RemoteMemory {
  RegionName region;
  RegionKeys keys;
  std::uint64_t region_size = 0;
  std::uint64_t offset = 0;
  std::uint8_t device = 0;  // of the peer: whose Sink gets the immediate of a put
};

enum class AccessResult : std::uint8_t {
  done,     // the bytes are where they belong, visible to the peer
  posted,   // Sink::access_ended will say when they are
  no_slot,  // no room now; without effect
  lock_contended,
  not_ready,  // the peer has not come that far yet
  refused,    // out of the region's bounds, or the region is not there any more; without effect
  peer_gone,
  unsupported,  // this network cannot reach that region by itself: the core sends messages instead
};

/// What a network contributes to one device. Calls with `exclusive` true are made by one thread at a time;
/// all others by any thread. No call but poll() enters the Sink, except put() and get() for their own token.
class Port {
 public:
  virtual ~Port() = default;
  [[nodiscard]] virtual const Capabilities& capabilities() const noexcept = 0;

  /// Copies the payload, at most inline_bytes or kSmallestSend, and sends it.
  virtual SendResult send(const Outgoing& outgoing, Bytes payload, bool exclusive) noexcept = 0;
  /// Sends the first `size` bytes of a packet and takes it over when the answer is sent.
  virtual SendResult send_packet(const Outgoing& outgoing, std::uint32_t packet, std::size_t size,
                                 bool exclusive) noexcept = 0;
  /// Copies from an address in the peer's process; false when the peer or the range is gone.
  virtual bool read(int peer, std::uint64_t address, std::span<std::byte> local) noexcept = 0;

  /// Copies into a peer's region. `immediate`, unless null, reaches the Sink of `to.device` after the bytes
  /// (only with immediate_bytes). `token` comes back in Sink::access_ended, possibly before the call returns.
  /// `from` is borrowed until the end.
  virtual AccessResult put(int peer, const RemoteMemory& to, Bytes from, const std::uint64_t* immediate,
                           std::uint64_t token, bool exclusive) noexcept = 0;
  /// Copies out of a peer's region.
  virtual AccessResult get(int peer, const RemoteMemory& from, std::span<std::byte> to, std::uint64_t token,
                           bool exclusive) noexcept = 0;

  /// Finds where this process has `size` bytes of a peer's region mapped, for loads, stores and atomic
  /// operations: at `place` after done, for as long as the network lives. Else not_ready, lock_contended,
  /// refused, peer_gone; unsupported where a region of its kind is not mapped, whoever asks.
  virtual AccessResult locate(int, const RemoteMemory&, std::size_t, std::byte*&) noexcept {
    return AccessResult::unsupported;
  }

  /// Whether the peer has left the job, or has failed.
  [[nodiscard]] virtual bool gone(int peer) noexcept = 0;
  /// After Network::peer_failed(): gives up what is kept for the peer, without waiting. True once nothing of
  /// it will be delivered any more; else poll() still has something, or another thread was in the way, and
  /// the call is to be repeated. One thread at a time.
  virtual bool bury(int peer, bool exclusive) noexcept {
    static_cast<void>(peer);
    static_cast<void>(exclusive);
    return true;
  }

  /// Delivers up to about `limit` messages of each lane, in the order of Urgency; returns how many. Between
  /// two lanes it looks again for what comes first.
  virtual std::size_t poll(Sink& sink, std::size_t limit, bool exclusive) noexcept = 0;

  /// Arranges that arrivals ring; false when something has arrived meanwhile. Pays the process-wide barrier.
  virtual bool prepare_park(bool exclusive) noexcept = 0;
  /// A token that changes with every ring or wake.
  [[nodiscard]] virtual std::uint32_t park_token() const noexcept = 0;
  /// Sleeps unless something has arrived or the token has changed; woken by arrivals and by wake() with a
  /// common bit in `bits`.
  virtual void park(std::uint32_t token, std::uint32_t bits, std::chrono::nanoseconds limit) noexcept = 0;
  virtual void wake(std::uint32_t bits) noexcept = 0;
  /// Whether threads are parked; only reads.
  [[nodiscard]] virtual bool has_parked() const noexcept = 0;

  /// What the network knows of the traffic since the port was opened, without having counted each message.
  struct Traffic {
    std::uint64_t inlined = 0;          // messages sent by inlined posts
    std::uint64_t wide_messages = 0;    // by write_wide() and write_packet(), without a trailer
    std::uint64_t wide_sends = 0;       // with one
    std::uint64_t wide_bytes = 0;       // of both, trailers included
    std::uint64_t delivered = 0;        // messages that the sink has taken
    std::uint64_t delivered_bytes = 0;  // of those of more than kShortMessage
    std::uint64_t lanes = 0;            // to peers
    std::uint64_t lanes_grown = 0;
  };
  /// Any thread; exact while nothing moves.
  [[nodiscard]] virtual Traffic traffic() noexcept { return {}; }

  /// Returns once no deliver() that began before the call is running in another thread.
  virtual void quiesce() noexcept = 0;
  /// Whether closing this port loses nothing: peers have consumed the messages, or the network goes on
  /// carrying them. Peers that are gone do not count.
  [[nodiscard]] virtual bool drained() noexcept = 0;
  /// One phrase per peer that has not consumed what was sent: "2 messages to rank 1". Empty when drained.
  [[nodiscard]] virtual std::string undelivered() = 0;
};

/// A rank's membership of a network.
class Network {
 public:
  virtual ~Network() = default;
  [[nodiscard]] virtual const char* name() const noexcept = 0;

  /// Room in every packet behind the attribute packet_size, for what protocols add to a payload.
  static constexpr std::size_t kPacketTrailer = 16;
  /// Registered memory of the packet pool: `count` packets, `stride` bytes apart, of `payload` bytes each:
  /// packet_size + kPacketTrailer.
  struct PacketMemory {
    std::byte* base = nullptr;
    std::size_t stride = 0;
    std::uint32_t count = 0;
    std::size_t payload = 0;
  };
  [[nodiscard]] virtual PacketMemory packet_memory() const noexcept = 0;
  /// Moves indices of packets that peers have given back into `indices`; returns how many.
  virtual std::size_t reclaim_packets(std::span<std::uint32_t> indices) noexcept = 0;

  /// Memory for a region of this rank that peers can reach as directly as this network allows; zeroed,
  /// aligned to a page. Throws weft::Error when there is none.
  virtual std::byte* allocate_memory(RegionName name, std::size_t size) = 0;
  /// Makes memory reachable for peers: the user's own (`allocated` false), or what allocate_memory()
  /// returned.
  virtual RegionKeys register_memory(RegionName name, std::span<std::byte> memory, bool allocated) = 0;
  /// Ends the reachability; accesses that come later are refused. Frees memory that was allocated here.
  virtual void release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept = 0;
  /// The peer's region mapped into this process, or nullptr where that is impossible or the peer is not there
  /// yet. Lives as long as the network.
  virtual const detail::DirectWindow* map_memory(int peer, const RemoteMemory& memory) = 0;

  /// Fills `path` with lanes as peers are contacted.
  virtual std::unique_ptr<Port> open_port(std::uint32_t index, detail::DevicePath& path) = 0;
  /// Counts the peers that this network knows to have failed, where it finds that out by itself; nullptr: the
  /// bootstrap knows. As Bootstrap::failures().
  [[nodiscard]] virtual const std::atomic<std::uint32_t>* failures() const noexcept { return nullptr; }
  [[nodiscard]] virtual bool has_failed(int peer) noexcept {
    static_cast<void>(peer);
    return false;
  }
  /// The peer has failed, its process has ended: Port::gone() holds from now on. Once for each.
  virtual void peer_failed(int peer) noexcept { static_cast<void>(peer); }

  /// Tells peers the state of a handle.
  virtual void publish_handle(std::uint16_t id, std::uint16_t generation, HandleState state) noexcept = 0;
};

}  // namespace weft::network
