// One device index of a rank on a message network: links to devices of peers, credits per class, handles,
// deliveries. What carries the bytes is its transport. A device lives as long as the network, so that its
// address stays the same when it is closed and opened again.
//
// One lock guards the transport and the links. Threads only try it: a thread that fails to get it returns
// lock_contended or polls nothing. Deliveries run outside the lock, one thread at a time in each lane.
// The parts of a device are in device/; here is what takes the lock and calls them: session_device.cpp,
// send.cpp, remote_access.inl.hpp, leave.cpp.
#pragma once

#include "network/session/courier/courier.hpp"
#include "network/session/device/access_ends.hpp"
#include "network/session/device/arrivals.hpp"
#include "network/session/device/contact.hpp"
#include "network/session/device/delivery.hpp"
#include "network/session/device/device_context.hpp"
#include "network/session/device/device_lock.hpp"
#include "network/session/device/link_credits.hpp"
#include "network/session/device/staging.hpp"
#include "network/session/device/untaken_messages.hpp"
#include "network/session/link/links.hpp"
#include "network/session/link/message_format.hpp"
#include "network/session/link/transport.hpp"
#include "network/session/parking.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace weft::network::session {

class SessionDevice final : public Laden {
 public:
  SessionDevice(const Shared& shared, std::uint32_t index, std::unique_ptr<Transport> transport);
  SessionDevice(const SessionDevice&) = delete;
  SessionDevice& operator=(const SessionDevice&) = delete;

  /// See Port::set_exclusive().
  void set_exclusive(bool exclusive) noexcept { lock_.set_exclusive(exclusive); }
  // send.cpp
  SendResult send(const Outgoing& outgoing, Bytes payload) noexcept;
  SendResult send_packet(const Outgoing& outgoing, std::uint32_t packet, std::size_t size) noexcept;
  [[nodiscard]] std::vector<Port::Unconsumed> unconsumed();
  // session_device.cpp
  /// Sends what is staged. Returns false when some is left.
  bool flush_staged() noexcept;
  // For threads that do not use the device, see Laden. Any thread, also beside a SerialEndpoint.
  [[nodiscard]] bool is_laden() const noexcept override;
  [[nodiscard]] std::uint64_t round() const noexcept override { return staging_.round(); }
  void carry() noexcept override;
  /// A line for each peer for which something waits to leave: how much, and since when.
  void describe_unsent(std::vector<std::string>& lines);
  // remote_access.inl.hpp
  /// Calls `begin(transport, link)` under the lock, when the link to the device of the peer is open, and
  /// returns its answer: that of a fetch, get or put. One that was posted counts until its end has been
  /// reported.
  template <class Begin>
  AccessResult access(int peer, std::uint8_t device, const Begin& begin) noexcept;
  /// Takes the name of a landing that a peer has put into; for the transport, under the lock.
  void landed(std::uint64_t name) noexcept { announcements_.add({-1, name}); }
  /// Takes the immediate of a put of a peer into a region; as above.
  void immediate_arrived(int peer, std::uint64_t immediate) noexcept {
    announcements_.add({peer, immediate});
  }
  /// Takes the end of a fetch, get, put or landing; for the transport, under the lock.
  void fetch_completed(std::uint64_t token, Outcome outcome) noexcept { accesses_.ended(token, outcome); }
  // leave.cpp
  /// Ends the transport for good. One thread at a time.
  void stop() noexcept;
  [[nodiscard]] bool is_stopped() const noexcept { return is_stopped_.load(std::memory_order_relaxed); }
  [[nodiscard]] Transport& transport() noexcept { return *transport_; }
  // session_device.cpp
  std::size_t poll(Sink& sink, std::size_t limit) noexcept;
  // For the transport, under the lock
  /// Takes a message that has come; one that is refused, or that needs no delivery, is released at once.
  void accept(ReceivedMessage& message) noexcept { arrivals_.accept(message); }
  /// What waited for a peer to be reached is sent by the next drive, or the present one.
  void serve_links_soon() noexcept { context_.links_need_service = true; }
  [[nodiscard]] Contacts& contacts() noexcept { return contacts_; }
  // session_device.cpp
  bool prepare_park() noexcept;
  bool park(std::uint32_t token, std::uint32_t bits, std::chrono::nanoseconds limit) noexcept;
  [[nodiscard]] Parking& parking() noexcept { return parking_; }
  /// For what any thread may ask of them.
  [[nodiscard]] Links& links() noexcept { return links_; }
  /// See KnowsLongWays. Any thread.
  [[nodiscard]] std::uint32_t most_under_way(int rank, std::uint8_t device) const noexcept {
    const Link* const link = links_.find(rank, device);
    return link != nullptr && link->is_long.load(std::memory_order_relaxed) ? context_.shared.credits : 0;
  }
  [[nodiscard]] Port::Traffic traffic() const noexcept { return delivery_.traffic(); }
  // leave.cpp
  /// See Port::reclaim().
  bool reclaim(int peer) noexcept;
  /// Returns all credit that is due, so that no peer waits for it.
  void close() noexcept;
  [[nodiscard]] bool drained() noexcept;
  [[nodiscard]] std::string undelivered();
  /// Waits until peers have taken all messages, or the time `until` (of base::now_ns()) has come; names the
  /// messages that are left.
  [[nodiscard]] std::string finish(std::int64_t until) noexcept;
  /// Tells every peer that this rank leaves, and gives the network a moment to carry the messages.
  void say_goodbye() noexcept;

 private:
  using Guard = DeviceLock::Guard;

  // session_device.cpp, under the lock
  void drive() noexcept;
  void report(std::span<const Announcements::Announcement> announced, Sink& sink) noexcept;
  /// Returns true once in some microseconds.
  [[nodiscard]] bool is_drive_due() noexcept;
  // send.cpp
  template <class Transmit, class Staged>
  SendResult submit(const Outgoing& outgoing, const Bytes* stageable, const Transmit& transmit,
                    const Staged& staged) noexcept;
  [[nodiscard]] SendResult approach(int peer, std::uint8_t device) noexcept;

  const std::unique_ptr<Transport> transport_;
  Parking parking_;
  DeviceLock lock_;
  // Under the lock, as far as they do not say otherwise:
  DeviceContext context_;
  Links links_;
  LinkCredits credits_{context_};
  Staging staging_{context_, credits_};
  Contacts contacts_{context_, links_, credits_, staging_, *this};
  Delivery delivery_{context_, links_, credits_};
  Arrivals arrivals_{context_, links_, contacts_, credits_, delivery_};
  UntakenMessages untaken_{context_, links_, credits_, staging_};
  AccessEnds accesses_;
  Announcements announcements_;
  std::int64_t next_drive_ = 0;  // of those that only wait for peers which are being reached
  std::atomic<bool> is_stopped_{false};
};

}  // namespace weft::network::session
