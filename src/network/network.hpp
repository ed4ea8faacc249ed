// What the core asks of a network. A backend is a folder below this one.
#pragma once

#include <weft/detail/device_path.hpp>
#include <weft/message.hpp>
#include <weft/types.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace weft::network {

/// Traffic classes with buffers of their own: control never waits behind data that is not consumed.
enum class TrafficClass : std::uint8_t { data, control };

/// A message on its way out. `channel` and `word` are the protocol's; the network carries them.
struct Outgoing {
  int peer;
  std::uint8_t device;  // of the peer
  TrafficClass traffic;
  std::uint8_t channel;
  bool to_handle;  // `word` starts with a handle that must be open at the peer
  std::uint64_t word;
  bool keeps_room = false;  // others wait behind this one: inlined posts shall not overtake them
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
  /// The peer wrote something impossible; the message was discarded.
  virtual void reject(int peer, const char* what, std::uint64_t value) noexcept = 0;

 protected:
  ~Sink() = default;
};

/// What senders know of a peer's handle.
enum class HandleState : std::uint8_t {
  open,
  stopped,    // senders shall stop
  withdrawn,  // what is sent is refused on arrival
};

struct Capabilities {
  std::size_t inline_bytes = 0;  // the longest payload that send() takes
  bool can_read = false;         // read() works between ranks of this network
};

/// What a network contributes to one device. Calls with `exclusive` true are made by one thread at a time.
class Port {
 public:
  virtual ~Port() = default;
  [[nodiscard]] virtual const Capabilities& capabilities() const noexcept = 0;

  /// Copies the payload (at most inline_bytes) and sends it.
  virtual SendResult send(const Outgoing& outgoing, Bytes payload, bool exclusive) noexcept = 0;
  /// Sends the first `size` bytes of a packet and takes it over when the answer is sent.
  virtual SendResult send_packet(const Outgoing& outgoing, std::uint32_t packet, std::size_t size,
                                 bool exclusive) noexcept = 0;
  /// Copies from an address in the peer's process; false when the peer or the range is gone.
  virtual bool read(int peer, std::uint64_t address, std::span<std::byte> local) noexcept = 0;

  /// Whether the peer has left the job.
  [[nodiscard]] virtual bool gone(int peer) noexcept = 0;

  /// Delivers up to about `limit` messages; returns how many.
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

  /// Returns once no deliver() that began before the call is running in another thread.
  virtual void quiesce() noexcept = 0;
  /// Messages that peers have not consumed yet; peers that are gone do not count.
  [[nodiscard]] virtual bool drained() noexcept = 0;
  /// One phrase per peer that has not consumed what was sent: "2 messages to rank 1". Empty when drained.
  [[nodiscard]] virtual std::string undelivered() = 0;
};

/// A rank's membership of a network.
class Network {
 public:
  virtual ~Network() = default;
  [[nodiscard]] virtual const char* name() const noexcept = 0;

  /// Registered memory of the packet pool: `count` packets, `stride` bytes apart.
  struct PacketMemory {
    std::byte* base = nullptr;
    std::size_t stride = 0;
    std::uint32_t count = 0;
    std::size_t payload = 0;
  };
  [[nodiscard]] virtual PacketMemory packet_memory() const noexcept = 0;
  /// Moves indices of packets that peers have given back into `indices`; returns how many.
  virtual std::size_t reclaim_packets(std::span<std::uint32_t> indices) noexcept = 0;

  /// Fills `path` with lanes as peers are contacted.
  virtual std::unique_ptr<Port> open_port(std::uint32_t index, detail::DevicePath& path) = 0;
  /// Tells peers the state of a handle.
  virtual void publish_handle(std::uint16_t id, std::uint16_t generation, HandleState state) noexcept = 0;
};

}  // namespace weft::network
