// One device index of a rank on a message network: links to devices of peers, credits per class, handles,
// deliveries. What carries the bytes is its transport. A device lives as long as the network, so that its
// address stays the same when it is closed and opened again.
//
// One lock guards the transport and the links. Threads only try it: a thread that fails to get it returns
// lock_contended or polls nothing. Deliveries run outside the lock, one thread at a time in each lane.
// Sources: session_device.cpp, contact.cpp, link_credits.cpp, send.cpp, staging.cpp, fetch.cpp,
// arrivals.cpp, delivery.cpp, leave.cpp, courier/carry.cpp.
#pragma once

#include "base/log.hpp"
#include "network/session/courier/courier.hpp"
#include "network/session/courier/serial_gate.hpp"
#include "network/session/link/link.hpp"
#include "network/session/link/message_format.hpp"
#include "network/session/link/transport.hpp"
#include "network/session/parking.hpp"

#include <weft/detail/device_path.hpp>
#include <weft/detail/lock.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace weft::network::session {

/// Resources that the devices of a rank share.
struct Shared {
  Peers& peers;
  HandleBoard& board;
  const base::Log& log;
  std::uint32_t credits;  // messages that may be under way between two devices in one class
  std::uint32_t first;    // of these: as long as no round trip is known
  bool adapts;            // windows follow bandwidth and delay
  std::uint32_t held;     // received messages of each peer's device that the program may hold
  bool stages;            // attribute staging
  Courier& courier;
};

class SessionDevice final : public Laden {
 public:
  SessionDevice(const Shared& shared, std::uint32_t index, std::unique_ptr<Transport> transport);
  SessionDevice(const SessionDevice&) = delete;
  SessionDevice& operator=(const SessionDevice&) = delete;

  // send.cpp
  SendResult send(const Outgoing& outgoing, Bytes payload, bool exclusive) noexcept;
  SendResult send_packet(const Outgoing& outgoing, std::uint32_t packet, std::size_t size,
                         bool exclusive) noexcept;
  [[nodiscard]] std::vector<Port::Unconsumed> unconsumed();
  // staging.cpp
  /// Sends what is staged. Returns false when some is left.
  bool flush_staged(bool exclusive) noexcept;
  // courier/carry.cpp: for threads that do not use the device. Any thread, also beside a SerialEndpoint.
  /// Returns true when something waits that the next drive() would send.
  [[nodiscard]] bool is_laden() const noexcept override;
  /// Changes whenever what is staged is sent.
  [[nodiscard]] std::uint64_t round() const noexcept override { return round_.load(std::memory_order_relaxed); }
  /// Sends what waits, as far as there is room; delivers nothing. Does nothing while another thread is
  /// inside.
  void carry() noexcept override;
  /// A line for each peer for which something waits to leave: how much, and since when.
  void describe_unsent(std::vector<std::string>& lines);
  // fetch.cpp
  AccessResult fetch(int peer, const OfferedMemory& from, std::span<std::byte> to, std::uint64_t token,
                     bool exclusive) noexcept;
  AccessResult get(int peer, const RemoteMemory& from, std::span<std::byte> to, std::uint64_t token,
                   bool exclusive) noexcept;
  AccessResult put(int peer, const RemoteMemory& to, Bytes from, std::uint64_t token,
                   bool exclusive) noexcept;
  /// Takes the end of a fetch, get or put; for the transport, under the lock.
  void fetch_ended(std::uint64_t token, Outcome outcome) noexcept;
  /// Ends the transport for good. One thread at a time.
  void stop() noexcept;
  [[nodiscard]] bool is_stopped() const noexcept { return is_stopped_.load(std::memory_order_relaxed); }
  [[nodiscard]] Transport& transport() noexcept { return *transport_; }
  // delivery.cpp
  std::size_t poll(Sink& sink, std::size_t limit, bool exclusive) noexcept;
  void quiesce() noexcept;
  // arrivals.cpp, for the transport, under the lock
  /// Takes a message that has come; one that is refused, or that needs no delivery, is released at once.
  void accept(ReceivedMessage& message) noexcept;
  /// What waited for a peer to be reached is sent by the next drive, or the present one. Under the lock.
  void serve_links_soon() noexcept { links_need_service_ = true; }
  // contact.cpp, likewise
  /// Makes the hello with which this device begins, header included, and returns its size. A transport may
  /// send it while the peer is still being reached, and then calls hello_has_left() when it is.
  [[nodiscard]] std::size_t make_hello(std::span<std::byte, kLongestHello> room,
                                       HandleCursor& cursor) const noexcept;
  void hello_has_left(Link& link, const HandleCursor& cursor) noexcept;
  /// Sends what waits for the peer of this link now.
  void serve_now(Link& link) noexcept {
    if (!serve(link)) links_need_service_ = true;
  }
  // session_device.cpp
  bool prepare_park(bool exclusive) noexcept;
  bool park(std::uint32_t token, std::uint32_t bits, std::chrono::nanoseconds limit) noexcept;
  [[nodiscard]] Parking& parking() noexcept { return parking_; }
  /// Returns true when a device of the rank has been contacted. Any thread.
  [[nodiscard]] bool has_contacted(int rank) const noexcept;
  /// See KnowsLongWays. Any thread.
  [[nodiscard]] std::uint32_t most_under_way(int rank, std::uint8_t device) const noexcept {
    const Link* const link = find(rank, device);
    return link != nullptr && link->is_long.load(std::memory_order_relaxed) ? shared_.credits : 0;
  }
  [[nodiscard]] Port::Traffic traffic() const noexcept {
    return {.delivered = delivered_.load(std::memory_order_relaxed),
            .delivered_bytes = delivered_bytes_.load(std::memory_order_relaxed)};
  }
  // leave.cpp
  /// See Port::reclaim().
  bool reclaim(int peer, bool exclusive) noexcept;
  /// Returns all credit that is due, so that no peer waits for it.
  void close() noexcept;
  [[nodiscard]] bool drained() noexcept;
  [[nodiscard]] std::string undelivered();
  /// Waits until peers have taken all messages, or the time `until` (of base::now_ns()) has come; names the
  /// messages that are left.
  [[nodiscard]] std::string finish(std::int64_t until) noexcept;
  [[nodiscard]] bool awaits_watched() noexcept;
  /// Tells every peer that this rank leaves, and gives the network a moment to carry the messages.
  void say_goodbye() noexcept;

 private:
  /// An error that poll() reports to the Sink.
  struct Rejection {
    int rank;
    const char* what;
    std::uint64_t value;
  };

  static constexpr std::uint32_t kMostFetches = 64;
  struct EndedFetch {
    std::uint64_t token;
    Outcome outcome;
  };

  class Visit;  // courier/carry.cpp

  /// Tries the device's lock and holds it until release(); false when another thread has it.
  class Guard {
   public:
    Guard(SessionDevice& device, bool exclusive) noexcept
        : word_(device.lock_), gate_(device.gate_), exclusive_(exclusive), owns_(enter()) {}
    ~Guard() { release(); }
    void try_again() noexcept {
      if (!owns_) owns_ = enter();
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    void release() noexcept {
      if (!owns_) return;
      owns_ = false;
      if (!exclusive_) return detail::TryLock::release(word_);
      detail::NoLock::release(word_);
      gate_.leave();
    }
    explicit operator bool() const noexcept { return owns_; }

   private:
    [[nodiscard]] bool enter() noexcept {
      if (!exclusive_) return detail::TryLock::acquire(word_);
      return gate_.enter() && detail::NoLock::acquire(word_);
    }

    std::atomic<std::uint32_t>& word_;
    SerialGate& gate_;
    const bool exclusive_;
    bool owns_;
  };

  using Row = std::atomic<Link*>;

  // session_device.cpp, under the lock
  void drive() noexcept;
  /// Returns true once in some microseconds.
  [[nodiscard]] bool is_drive_due() noexcept;
  [[nodiscard]] Header header(Kind kind, std::uint8_t channel, std::uint64_t word) const noexcept;
  // contact.cpp, all under the lock but find()
  [[nodiscard]] Link* find(int rank, std::uint8_t device) const noexcept;
  Link* contact(int rank, std::uint8_t device, std::span<const std::byte> address) noexcept;
  void serve_links() noexcept;
  void return_credit_when_idle() noexcept;
  [[nodiscard]] bool serve(Link& link) noexcept;
  Sent send_hello(Link& link) noexcept;
  Sent send_news(Link& link) noexcept;
  void open_if_both_spoke(Link& link) noexcept;
  void on_hello(const Header& header, Bytes payload) noexcept;
  void on_handles(Link& link, Bytes payload) noexcept;
  void learn_handles(Link& link, Bytes payload) noexcept;
  // link_credits.cpp, under the lock
  [[nodiscard]] bool owes_credit(const Link& link) const noexcept;
  Sent send_credit(Link& link) noexcept;
  Sent send_ask(Link& link) noexcept;
  void note_left(Link& link, TrafficClass traffic) noexcept;
  void on_credit(Link& link, Bytes payload) noexcept;
  void on_ask(Link& link, Bytes payload) noexcept;
  // send.cpp, under the lock but for submit()
  template <class Transmit>
  SendResult submit(const Outgoing& outgoing, const Bytes* stageable, bool exclusive,
                    const Transmit& transmit) noexcept;
  [[nodiscard]] SendResult approach(int peer, std::uint8_t device, bool exclusive) noexcept;
  // fetch.cpp
  template <class Begin>
  AccessResult begin_access(int peer, std::uint8_t device, bool exclusive, const Begin& begin) noexcept;
  // under the lock
  [[nodiscard]] std::size_t take_ended(std::span<EndedFetch> ended) noexcept;
  // staging.cpp, under the lock
  [[nodiscard]] bool may_stage(const Link& link, const Outgoing& outgoing, std::size_t size) const noexcept;
  [[nodiscard]] bool stage(Link& link, const Outgoing& outgoing, Bytes payload) noexcept;
  [[nodiscard]] bool flush(Link& link) noexcept;
  void flush_links(bool all) noexcept;
  // arrivals.cpp, under the lock
  bool keeps(ReceivedMessage& message, const Header& header) noexcept;
  void reject(int rank, const char* what, std::uint64_t value) noexcept;
  // delivery.cpp
  std::size_t deliver_urgent(Sink& sink, std::size_t limit) noexcept;
  std::size_t deliver_bulk(Sink& sink) noexcept;
  std::size_t deliver(Lane& lane, Sink& sink, std::size_t limit) noexcept;
  struct Delivered;
  bool deliver_single(Lane& lane, ReceivedMessage& buffer, Sink& sink, Delivered& delivered) noexcept;
  bool deliver_frame(Lane& lane, ReceivedMessage& buffer, Sink& sink, std::size_t limit,
                     Delivered& delivered) noexcept;
  // leave.cpp, under the lock
  struct Untaken {
    bool counts_own = false;      // messages to this rank itself
    bool counts_carried = false;  // messages that reach ranks of this thread even if this rank has ended
  };
  /// Returns true when peers have taken all messages.
  [[nodiscard]] bool is_taken(const Untaken& untaken) noexcept;

  const Shared& shared_;
  const std::uint8_t index_;
  const std::unique_ptr<Transport> transport_;
  ReceiveBuffers& buffers_;
  Parking parking_;

  alignas(64) std::atomic<std::uint32_t> lock_{0};
  SerialGate gate_;
  std::vector<Rejection> rejections_;
  std::vector<EndedFetch> ended_fetches_;  // for the next poll; has room for all fetches under way
  std::uint32_t fetches_ = 0;              // under way, or ended and not reported
  std::vector<std::unique_ptr<Link>> owned_links_;
  std::array<std::unique_ptr<Row[]>, detail::DevicePath::kMaxDevices> owned_rows_;
  Link* staged_links_ = nullptr;  // links that may have a staged frame
  std::uint64_t changes_seen_ = 0;
  std::uint32_t idle_drives_ = 0;  // calls of drive() since a message came
  std::int64_t idle_since_ = 0;    // time of the first of these
  bool returns_all_credit_ = false;
  std::int64_t drain_asked_ = 0;  // time at which peers were last asked for credit
  bool links_need_service_ = false;
  std::int64_t next_drive_ = 0;  // of those that only wait for peers which are being reached

  // Written under the lock, read without it:
  alignas(64) std::array<std::atomic<Row*>, detail::DevicePath::kMaxDevices> rows_{};  // by the peer's device
  std::atomic<Link*> links_{nullptr};
  std::atomic<bool> has_rejections_{false};
  std::atomic<bool> is_stopped_{false};
  std::atomic<bool> is_staging_{false};                // staged_links_ has links
  std::atomic<std::uint64_t> round_{1};                // raised when what is staged leaves
  bool may_stage_ = false;                             // set at the first contact
  alignas(64) std::atomic<std::uint32_t> pending_{0};  // messages that wait for their delivery, of all lanes
  std::atomic<std::uint32_t> pending_urgent_{0};       // of these, the urgent ones
  std::atomic<bool> credit_is_due_{false};             // set by deliveries
  std::atomic<bool> owes_credit_{false};               // likewise, until all of it has been returned
  std::atomic<bool> owes_batch_{false};    // likewise: of so much credit that a peer may wait for it
  std::atomic<Link*> bulk_turn_{nullptr};  // link with which the next delivery of bulk begins
  std::atomic<std::uint64_t> delivered_{0};
  std::atomic<std::uint64_t> delivered_bytes_{0};
};

}  // namespace weft::network::session
