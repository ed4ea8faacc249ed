// Interface between the core and a network. Each backend is a folder below this one.
#pragma once

#include "network/batch.hpp"
#include "network/memory_of_ranks.hpp"
#include "network/multi_slots.hpp"

#include <weft/detail/device_path.hpp>
#include <weft/detail/direct_window.hpp>
#include <weft/message.hpp>
#include <weft/types.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::network {

/// Traffic classes. Each has buffers of its own: no class waits behind messages of another class that are not
/// consumed.
enum class TrafficClass : std::uint8_t {
  data,             // messages of the class normal
  control,          // messages of protocols; always taken
  urgent,           // messages of the class control
  bulk,             // messages of the class bulk
  rendezvous_data,  // payloads of large messages; always taken
};
inline constexpr std::size_t kTrafficClasses = 5;

/// Order in which a poll delivers messages: all messages of `first`, then of `normal`, then at most
/// kBulkPerPoll messages of `last`, from all peers together.
enum class Urgency : std::uint8_t { first, normal, last };
inline constexpr std::size_t kUrgencies = 3;
inline constexpr std::size_t kBulkPerPoll = 8;
[[nodiscard]] constexpr Urgency urgency_of(TrafficClass traffic) noexcept {
  switch (traffic) {
    case TrafficClass::urgent:
      return Urgency::first;
    case TrafficClass::bulk:
    case TrafficClass::rendezvous_data:
      return Urgency::last;
    case TrafficClass::data:
    case TrafficClass::control:
      break;
  }
  return Urgency::normal;
}

/// A message to be sent. `channel` and `word` belong to the protocol; the network only carries them.
struct Outgoing {
  int peer;
  std::uint8_t device;  // of the peer
  TrafficClass traffic;
  std::uint8_t channel;
  bool to_handle;  // `word` starts with a handle that must be open at the peer
  std::uint64_t word;
  bool reserves_room = false;  // posts wait behind this one: the next inlined post asks for room anew
  bool in_order = false;       // messages of its kind should arrive in the order in which they were sent
  bool is_notice = false;      // a device that closes need not wait until the peer has read it
};

enum class SendResult : std::uint8_t {
  sent,
  no_slot,
  no_credit,
  lock_contended,
  not_ready,
  peer_left,  // the peer has left the job: nothing will ever arrive there
};

/// Receiver of what a network delivers.
class Sink {
 public:
  /// Takes the messages of the batch, in order, as far as they can be taken now: Batch says what is left.
  virtual void deliver(Batch& batch) noexcept = 0;
  /// Delivers a single message. Returns false when it cannot be taken now; it stays in the network, and so do
  /// the messages behind it.
  bool deliver(std::uint8_t channel, std::uint64_t word, Message& message) noexcept {
    Batch batch(channel, word, message);
    deliver(batch);
    return batch.is_taken();
  }
  /// Reports that the peer wrote something impossible; the message was discarded.
  virtual void reject(int peer, const char* what, std::uint64_t value) noexcept = 0;

  /// Reports that a put, get or fetch of this rank that was answered with `posted` has ended: ok, refused or
  /// peer_failed. A put that ended with ok is visible at the target.
  virtual void access_completed(std::uint64_t token, Outcome outcome) noexcept = 0;
  /// Reports the immediate of a put by a peer; the bytes of the put are visible here. `bytes`: of the
  /// immediate, whose higher ones the network has not carried.
  virtual void immediate_arrived(int peer, std::uint64_t immediate, std::size_t bytes) noexcept = 0;
  /// Reports that a peer has put into the landing of this name; the bytes are visible here. `bytes`: of the
  /// name, whose higher ones the network has not carried.
  virtual void landed(std::uint64_t name, std::size_t bytes) noexcept {
    static_cast<void>(name);
    static_cast<void>(bytes);
  }

 protected:
  ~Sink() = default;
};

/// State of a peer's handle as senders see it.
enum class HandleState : std::uint8_t {
  open,
  stopped,    // senders must stop
  withdrawn,  // messages to the handle are refused on arrival
};

struct Capabilities {
  std::size_t inline_bytes = 0;     // up to this size send() is cheaper than a packet
  bool can_read = false;            // read() works, at least with some of the peers
  std::size_t immediate_bytes = 0;  // size of the immediate that put() can deliver to the target: 0, 4 or 8
  bool keeps_order = false;         // messages between two devices in one traffic class keep their order
  bool can_fetch = false;           // offer() and fetch() work
  std::size_t landing_bytes = 0;    // of a landing's name: open_landing() and land() work, unless 0; 4 or 8
  bool stages = false;              // messages may wait for the next poll, or for flush()
  std::size_t lane_bytes = 0;  // inline_bytes of peers with lanes, where those of others are fewer; else 0
};

/// The bytes of messages up to this size are not counted: inlined posts send them.
inline constexpr std::size_t kShortMessage = detail::kSlotPayload;

/// send() takes payloads of this size from every protocol, even when inline_bytes is smaller.
inline constexpr std::size_t kSmallestSend = 64;

enum class AccessResult : std::uint8_t {
  done,     // the bytes are copied; a put is visible to the peer
  posted,   // Sink::access_completed() will be called at the end
  no_slot,  // no room now; without effect
  lock_contended,
  not_ready,  // the peer is not ready yet
  refused,    // outside the region's bounds, or the region is closed; without effect
  peer_left,
  unsupported,  // this network does not reach the region by itself, or does not access so few bytes: the core
                // sends messages instead
};

/// Part of a network that belongs to one device. Any thread may call it, unless a function says otherwise.
/// Only poll() enters the Sink, and put() and get() for their own token.
class Port {
 public:
  virtual ~Port() = default;
  [[nodiscard]] virtual const Capabilities& capabilities() const noexcept = 0;
  /// Returns what the port can do with this peer. It differs from capabilities() where peers are reached by
  /// different networks: that is what holds for all of them, but for can_read, can_fetch and stages, which
  /// hold for one at least, and lane_bytes.
  [[nodiscard]] virtual const Capabilities& peer_capabilities(int peer) noexcept {
    static_cast<void>(peer);
    return capabilities();
  }

  /// `exclusive`: until the next call of this function one thread at a time uses the port, which then need
  /// not take its locks. Called while no thread is inside. Ports that always take them ignore it.
  virtual void set_exclusive(bool exclusive) noexcept { static_cast<void>(exclusive); }

  /// Copies the payload, at most inline_bytes or kSmallestSend, and sends it.
  virtual SendResult send(const Outgoing& outgoing, Bytes payload) noexcept = 0;
  /// Sends the first `size` bytes of a packet. When the result is `sent`, the packet belongs to the network.
  virtual SendResult send_packet(const Outgoing& outgoing, std::uint32_t packet,
                                 std::size_t size) noexcept = 0;
  /// Sends what is staged: messages that were accepted and wait, so that they leave together with others, for
  /// the next poll. Returns false when some are left, because the network has no room or another thread has
  /// the port.
  virtual bool flush() noexcept { return true; }
  /// Copies from an address in the peer's process; returns false when the peer has left or the range is not
  /// mapped.
  virtual bool read(int peer, std::uint64_t address, std::span<std::byte> local) noexcept = 0;

  /// Copies into a peer's region. `immediate`, unless null, reaches the Sink of `to.device` after the bytes
  /// (only with immediate_bytes). `token` comes back in Sink::access_completed, possibly before the call
  /// returns. `from` is borrowed until the end.
  virtual AccessResult put(int peer, const RemoteMemory& to, Bytes from, const std::uint64_t* immediate,
                           std::uint64_t token) noexcept = 0;
  /// Copies out of a peer's region.
  virtual AccessResult get(int peer, const RemoteMemory& from, std::span<std::byte> to,
                           std::uint64_t token) noexcept = 0;
  /// Changes a value of a region with native atomic operations; the fourth, unless null, gets the one before.
  virtual AccessResult atomic(int, const RemoteMemory&, const NativeAtomic&, std::byte*,
                              std::uint64_t) noexcept {
    return AccessResult::unsupported;
  }
  /// Lets the peer fetch from `memory`, which must stay valid until end_offer(). `region`: of this rank, that
  /// holds it; generation 0: not known. Returns an offer without a key when this network cannot do that, or
  /// has no room now. Any thread.
  [[nodiscard]] virtual Offer offer(int, Bytes, RegionName) noexcept { return {}; }
  /// Ends an offer of which no fetch is under way. Any thread.
  virtual void end_offer(int, const Offer&) noexcept {}
  /// Copies from memory that a peer has offered. `token` comes back in Sink::access_completed, from poll(),
  /// of this or another thread. `to` is borrowed until then.
  virtual AccessResult fetch(int, const OfferedMemory&, std::span<std::byte>, std::uint64_t) noexcept {
    return AccessResult::unsupported;
  }
  /// Opens memory for one put of the peer, which Sink::landed() reports, from poll(). Returns a landing that
  /// is not open when this network cannot do that, or has no room now. `memory` is borrowed until
  /// close_landing(). Any thread.
  [[nodiscard]] virtual Landing open_landing(int, std::span<std::byte>) noexcept { return {}; }
  /// Nothing is written into the landing any more once the call has returned, provided that the put has been
  /// reported, or that reclaim() of the peer has returned true. Any thread.
  virtual void close_landing(int, const Landing&) noexcept {}
  /// Puts memory that was offered to the peer into a landing that the peer has opened for it. `token` comes
  /// back in Sink::access_completed, from poll(), of this or another thread; the offer stays until then.
  virtual AccessResult land(int, const RemoteLanding&, Bytes, const Offer&, std::uint64_t) noexcept {
    return AccessResult::unsupported;
  }
  /// Called when this port will never be polled again: no fetch writes into memory afterwards, and no put
  /// into a landing.
  virtual void stop_fetches() noexcept {}

  /// Finds the place where this process has `size` bytes of a peer's region mapped, for loads, stores and
  /// atomic operations: `place` is set when the result is `done`, and is valid for the life of the network.
  /// Other results: not_ready, lock_contended, refused, peer_left; unsupported when regions of its kind are
  /// not mapped by any rank.
  virtual AccessResult locate(int, const RemoteMemory&, std::size_t, std::byte*&) noexcept {
    return AccessResult::unsupported;
  }

  /// Returns true when the peer has left the job, or has failed.
  [[nodiscard]] virtual bool has_left(int peer) noexcept = 0;
  /// Returns true when this rank itself is dead, as ranks of a simulation may be: has_left() then holds for
  /// all peers, although none of them has left, and nothing is delivered any more.
  [[nodiscard]] virtual bool is_cut_off() noexcept { return false; }
  /// Reclaims the resources that are held for the peer, without waiting; called after
  /// Network::peer_departed(). Returns true once nothing from the peer will be delivered any more. Returns
  /// false when poll() still has messages or another thread held a lock; the call must then be repeated. One
  /// thread at a time.
  virtual bool reclaim(int /*peer*/) noexcept { return true; }

  /// Delivers up to about `limit` messages of each lane, in the order of Urgency; returns their number.
  /// Between two lanes it polls the lanes of Urgency::first again.
  virtual std::size_t poll(Sink& sink, std::size_t limit) noexcept = 0;

  /// The descriptor that is readable when a message has come, once arm() has returned true; negative when
  /// there is none. Any thread.
  [[nodiscard]] virtual int wait_descriptor() const noexcept { return -1; }
  /// Returns false when a message has come that poll() has not read. After prepare_park().
  [[nodiscard]] virtual bool arm() noexcept { return true; }
  /// Makes arrivals ring the doorbell; returns false when a message has arrived meanwhile. Costs a
  /// process-wide barrier.
  virtual bool prepare_park() noexcept = 0;
  /// Returns a token that changes with each ring of the doorbell and each wake().
  [[nodiscard]] virtual std::uint32_t park_token() const noexcept = 0;
  /// Sleeps unless a message has arrived or the token has changed. Woken by arrivals, and by wake() with a
  /// common bit in `bits`. Returns false when nothing of this has ended the sleep, but its time: `limit`, or
  /// less where the network has to be looked after.
  virtual bool park(std::uint32_t token, std::uint32_t bits, std::chrono::nanoseconds limit) noexcept = 0;
  virtual void wake(std::uint32_t bits) noexcept = 0;
  /// Returns true when threads are parked; only reads.
  [[nodiscard]] virtual bool has_parked() const noexcept = 0;

  /// Counters of the traffic since the port was opened; messages are not counted one by one.
  struct Traffic {
    std::uint64_t inlined = 0;              // messages sent by inlined posts
    std::uint64_t multi_slot_messages = 0;  // of write_multi_slot() and write_packet(), without a trailer
    std::uint64_t multi_slot_sends = 0;  // messages of write_multi_slot() and write_packet() with a trailer
    std::uint64_t multi_slot_bytes = 0;  // bytes of these two, trailers included
    std::uint64_t delivered = 0;         // messages that the sink has taken
    std::uint64_t delivered_bytes = 0;   // bytes of delivered messages of more than kShortMessage
    std::uint64_t lanes = 0;             // lanes to peers
    std::uint64_t lanes_grown = 0;
  };
  /// Any thread. The counters are exact while no thread sends or polls.
  [[nodiscard]] virtual Traffic traffic() noexcept { return {}; }

  /// Returns once no deliver() that began before the call is running in another thread.
  virtual void quiesce() noexcept = 0;
  /// Returns true when closing this port loses nothing: the peers have consumed the messages, or the network
  /// goes on carrying them. Peers that have left do not count. Any thread; never waits, and returns false
  /// when it cannot tell.
  [[nodiscard]] virtual bool drained() noexcept = 0;
  /// One phrase per peer that has not consumed what was sent: "2 messages to rank 1". Empty when drained.
  [[nodiscard]] virtual std::string undelivered() = 0;
  /// Messages of this port that a peer has not consumed.
  struct Unconsumed {
    int peer;
    std::uint64_t messages;  // upper bound
    bool has_left;           // the peer has left: the messages are lost
    bool needs_sender;       // parts of an exchange, which the peer gives up when this rank has left
  };
  /// Returns one entry for each such peer, peers that have left included. Any thread.
  [[nodiscard]] virtual std::vector<Unconsumed> unconsumed() { return {}; }
};

/// A rank's membership of a network.
class Network {
 public:
  virtual ~Network() = default;
  [[nodiscard]] virtual const char* name() const noexcept = 0;

  /// Returns the capabilities of this network's ports, also before one is open.
  [[nodiscard]] virtual Capabilities capabilities() const noexcept { return {}; }

  /// Where a peer is, as far as this network can tell.
  enum class Reach : std::uint8_t {
    unknown,      // the peer has not joined yet, or left before it was ever contacted
    local,        // this network reaches the peer
    remote,       // the peer is on another host, which this network does not reach
    unreachable,  // the peer is on this host, and yet this network does not reach it
  };
  /// Finds out whether this network reaches the peer; makes first contact when it does. An answer other than
  /// unknown is final. Any thread; asks the bootstrap at most once per millisecond.
  [[nodiscard]] virtual Reach reach(int peer) noexcept {
    static_cast<void>(peer);
    return Reach::local;
  }
  /// Returns the reason of an answer of reach() that is final, as a part of a sentence.
  [[nodiscard]] virtual std::string reason_of_reach(int peer) {
    static_cast<void>(peer);
    return {};
  }

  /// Bytes in every packet behind the attribute packet_size, for the data that protocols add to a payload.
  static constexpr std::size_t kPacketTrailer = 16;
  /// Registered memory of the packet pool: `count` packets, `stride` bytes apart, of `payload` bytes each
  /// (packet_size + kPacketTrailer).
  struct PacketMemory {
    std::byte* base = nullptr;
    std::size_t stride = 0;
    std::uint32_t count = 0;
    std::size_t payload = 0;
  };
  [[nodiscard]] virtual PacketMemory packet_memory() const noexcept = 0;
  /// Moves the indices of packets that peers have returned into `indices`; returns their number.
  virtual std::size_t reclaim_packets(std::span<std::uint32_t> indices) noexcept = 0;
  /// The number of packets that were sent and have not come back by reclaim_packets(): peers may keep them
  /// longer than the sender's ports are open. For the end of a runtime.
  [[nodiscard]] virtual std::uint32_t packets_away() noexcept { return 0; }
  /// The number of payloads in memory of this network that messages of the program hold. Approximate.
  [[nodiscard]] virtual std::uint64_t held_payloads() const noexcept { return 0; }

  /// Allocates memory for a region of this rank that peers can reach as directly as this network allows;
  /// zeroed, aligned to a page. Throws weft::Error when there is none.
  virtual std::byte* allocate_memory(RegionName name, std::size_t size) = 0;
  /// Makes memory of the user (`allocated` false), or from allocate_memory(), reachable for peers.
  virtual RegionKeys register_memory(RegionName name, std::span<std::byte> memory, bool allocated) = 0;
  /// Ends the registration; later accesses are refused. Frees memory from allocate_memory().
  virtual void release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept = 0;
  /// Returns true when devices can carry out atomic operations on regions of this rank (Port::atomic).
  [[nodiscard]] virtual bool has_native_atomics() const noexcept { return false; }
  /// Returns the window by which the peer's region is mapped in this process; std::nullopt when it cannot be
  /// mapped, the region is closed, or the peer is not ready yet. An access through the window has no effect
  /// once the owner has released the region. A caller that asks allows() before each access may use the
  /// window for the life of the network.
  virtual std::optional<detail::DirectWindow> map_memory(int peer, const RemoteMemory& memory) = 0;

  /// Opens a port, which fills `path` with lanes as peers are contacted.
  virtual std::unique_ptr<Port> open_port(std::uint32_t index, detail::DevicePath& path) = 0;
  /// The number of peers that this network knows to have failed, when it detects failures by itself; nullptr
  /// when the bootstrap detects them. See Bootstrap::failures().
  [[nodiscard]] virtual const std::atomic<std::uint32_t>* failures() const noexcept { return nullptr; }
  [[nodiscard]] virtual bool has_failed(int peer) noexcept {
    static_cast<void>(peer);
    return false;
  }
  /// The number of peers that have departed: failed, or left in order. See Bootstrap::departures().
  [[nodiscard]] virtual const std::atomic<std::uint32_t>* departures() const noexcept { return nullptr; }
  [[nodiscard]] virtual bool has_left(int peer) noexcept {
    static_cast<void>(peer);
    return false;
  }
  /// Tells the network that the peer has failed or has left: Port::has_left() holds from now on. Called once
  /// for each peer.
  virtual void peer_departed(int peer) noexcept { static_cast<void>(peer); }

  /// Progress of this rank's shutdown, published to peers.
  enum class Closing : std::uint8_t {
    no,
    devices,  // all open devices are being closed
    runtime,  // the runtime is being closed as well: nothing is opened or received any more
  };
  virtual void publish_closing(Closing how) noexcept { static_cast<void>(how); }
  /// State of a peer as a possible receiver of messages.
  enum class Taker : std::uint8_t {
    living,   // the peer's process is running, even if it is slow or stopped
    closing,  // the peer has published that it is closing: it takes only what needs no call of its program
    nobody,   // the peer's process has ended without another notice, or the peer is this rank, whose only
              // thread asks
  };
  [[nodiscard]] virtual Taker taker_of(int peer) noexcept {
    static_cast<void>(peer);
    return Taker::living;
  }
  /// Returns true when this rank has ever sent to itself, or may have.
  [[nodiscard]] virtual bool has_contacted_itself() noexcept { return true; }
  /// Returns true when a message that was sent stays available to the peer after this rank has left.
  [[nodiscard]] virtual bool keeps_messages_for(int peer) noexcept {
    static_cast<void>(peer);
    return false;
  }

  /// Publishes the state of a handle to peers.
  virtual void publish_handle(std::uint16_t id, std::uint16_t generation, HandleState state) noexcept = 0;
};

}  // namespace weft::network
