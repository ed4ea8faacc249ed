// What a rank keeps of one device index: a libfabric endpoint with everything that belongs to it. It lives as
// long as the network, so that its address stays the same when a device is closed and opened again.
//
// One lock guards the endpoint, its completions and the links. It is only tried: who misses it answers
// lock_contended or polls nothing. Deliveries run outside of it, one thread at a time in each lane.
// Sources: device.cpp, contact.cpp, send.cpp, completions.cpp, delivery.cpp.
#pragma once

#include "base/log.hpp"
#include "network/ofi/fabric.hpp"
#include "network/ofi/link.hpp"
#include "network/ofi/packet_memory.hpp"
#include "network/ofi/parking.hpp"
#include "network/ofi/receive_buffers.hpp"
#include "network/ofi/wire.hpp"

#include <weft/detail/device_path.hpp>
#include <weft/detail/lock.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace weft::network::ofi {

/// What the devices of a rank share.
struct Shared {
  Fabric& fabric;
  Peers& peers;
  HandleBoard& board;
  PacketMemory& packets;
  detail::PayloadLender& copier;
  const base::Log& log;
  std::size_t inline_bytes;
  std::uint32_t credits;
  std::uint32_t held;
};

class OfiDevice {
 public:
  /// Opens the endpoint and tells the job its address. Throws weft::Error.
  OfiDevice(const Shared& shared, std::uint32_t index);
  ~OfiDevice();
  OfiDevice(const OfiDevice&) = delete;
  OfiDevice& operator=(const OfiDevice&) = delete;

  // send.cpp
  SendResult send(const Outgoing& outgoing, Bytes payload, bool exclusive) noexcept;
  SendResult send_packet(const Outgoing& outgoing, std::uint32_t packet, std::size_t size,
                         bool exclusive) noexcept;
  // delivery.cpp
  std::size_t poll(Sink& sink, std::size_t limit, bool exclusive) noexcept;
  void quiesce() noexcept;
  // device.cpp
  bool prepare_park(bool exclusive) noexcept;
  void park(std::uint32_t token, std::uint32_t bits, std::chrono::nanoseconds limit) noexcept;
  /// Leaves no peer waiting for the news that its messages have been taken.
  void close() noexcept;
  [[nodiscard]] Parking& parking() noexcept { return parking_; }
  [[nodiscard]] bool drained() noexcept;
  [[nodiscard]] std::string undelivered();
  [[nodiscard]] Port::Traffic traffic() const noexcept {
    return {.delivered = delivered_.load(std::memory_order_relaxed),
            .delivered_bytes = delivered_bytes_.load(std::memory_order_relaxed)};
  }
  /// Waits until peers have taken what was sent, or the time (of base::now_ns()) has come; names what is
  /// left.
  void finish(std::int64_t until) noexcept;
  /// Tells every peer that this rank leaves, and gives the network a moment to carry it.
  void say_goodbye() noexcept;

 private:
  /// An own transfer that libfabric has not finished.
  struct Sending : Transfer {
    Link* link = nullptr;
    std::uint32_t packet = 0;
    std::byte* bytes = nullptr;  // room for a message of inline_bytes
  };
  /// Something that poll() reports to the Sink.
  struct Rejection {
    int rank;
    const char* what;
    std::uint64_t value;
  };
  enum class Sent : std::uint8_t { yes, later, never };

  /// The lock, held or missed.
  class Guard {
   public:
    Guard(OfiDevice& device, bool exclusive) noexcept
        : word_(device.lock_),
          exclusive_(exclusive),
          owns_(exclusive ? detail::NoLock::acquire(word_) : detail::TryLock::acquire(word_)) {}
    ~Guard() { release(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    void release() noexcept {
      if (!owns_) return;
      owns_ = false;
      exclusive_ ? detail::NoLock::release(word_) : detail::TryLock::release(word_);
    }
    explicit operator bool() const noexcept { return owns_; }

   private:
    std::atomic<std::uint32_t>& word_;
    const bool exclusive_;
    bool owns_;
  };

  using Row = std::atomic<Link*>;

  // device.cpp, under the lock
  [[nodiscard]] bool is_taken(bool by_itself_too) noexcept;
  // contact.cpp, all under the lock
  [[nodiscard]] Link* find(int rank, std::uint8_t device) const noexcept;
  Link* contact(int rank, std::uint8_t device, std::span<const std::byte> address) noexcept;
  void serve_links() noexcept;
  [[nodiscard]] bool serve(Link& link) noexcept;
  Sent send_hello(Link& link) noexcept;
  Sent send_news(Link& link) noexcept;
  [[nodiscard]] bool owes_credit(const Link& link) const noexcept;
  Sent send_credit(Link& link) noexcept;
  Sent send_ask(Link& link) noexcept;
  void open_if_both_spoke(Link& link) noexcept;
  void on_hello(const Header& header, Bytes payload) noexcept;
  void on_credit(Link& link, Bytes payload) noexcept;
  void on_ask(Link& link, Bytes payload) noexcept;
  void on_handles(Link& link, Bytes payload) noexcept;

  // send.cpp, under the lock but for submit()
  template <class Transmit>
  SendResult submit(const Outgoing& outgoing, bool exclusive, const Transmit& transmit) noexcept;
  [[nodiscard]] SendResult approach(const Outgoing& outgoing, bool exclusive) noexcept;
  Sent transmit(Link& link, const Header& header, Bytes payload) noexcept;
  Sent outcome(Link& link, ssize_t result) noexcept;
  [[nodiscard]] Header header(Kind kind, std::uint8_t channel, std::uint64_t word) const noexcept;
  [[nodiscard]] Sending* take_sending() noexcept;
  void end(Sending& sending) noexcept;

  // completions.cpp, under the lock
  void drive() noexcept;
  void post_receives() noexcept;
  void on_completion(const fi_cq_data_entry& entry) noexcept;
  void on_error() noexcept;
  void on_message(ReceiveBuffer& buffer, std::size_t size) noexcept;
  bool accept(ReceiveBuffer& buffer, const Header& header) noexcept;
  void reject(int rank, const char* what, std::uint64_t value) noexcept;

  // delivery.cpp
  std::size_t deliver_urgent(Sink& sink, std::size_t limit) noexcept;
  std::size_t deliver_bulk(Sink& sink) noexcept;
  std::size_t deliver(Lane& lane, Sink& sink, std::size_t limit) noexcept;

  const Shared& shared_;
  const std::uint8_t index_;
  ReceiveBuffers buffers_;
  Parking parking_;
  Owned<fid_av> addresses_;
  Owned<fid_cq> completions_;
  Owned<fid_ep> endpoint_;
  int wait_descriptor_ = -1;
  std::size_t inject_bytes_ = 0;

  alignas(64) std::atomic<std::uint32_t> lock_{0};
  ReceiveBuffer* unposted_ = nullptr;  // free, and refused by libfabric so far
  std::unique_ptr<std::byte[]> sending_memory_;
  Owned<fid_mr> sending_registration_;
  std::vector<Sending> sendings_;
  std::vector<Sending*> free_sendings_;
  std::vector<Rejection> rejections_;
  std::vector<std::unique_ptr<Link>> owned_links_;
  std::array<std::unique_ptr<Row[]>, detail::DevicePath::kMaxDevices> owned_rows_;
  std::uint64_t changes_seen_ = 0;
  std::uint32_t idle_drives_ = 0;  // since a message arrived
  bool returns_all_credit_ = false;
  std::int64_t drain_asked_ = 0;  // when peers were asked last what they have taken
  bool links_need_service_ = false;

  // Written under the lock, read without:
  alignas(64) std::array<std::atomic<Row*>, detail::DevicePath::kMaxDevices> rows_{};  // by the peer's device
  std::atomic<Link*> links_{nullptr};
  std::atomic<bool> has_rejections_{false};
  alignas(64) std::atomic<std::uint32_t> pending_{0};  // of all lanes
  std::atomic<bool> credit_is_due_{false};             // set by deliveries
  std::atomic<Link*> bulk_turn_{nullptr};              // with which the next look at bulk begins
  std::atomic<std::uint64_t> delivered_{0};
  std::atomic<std::uint64_t> delivered_bytes_{0};
};

}  // namespace weft::network::ofi
