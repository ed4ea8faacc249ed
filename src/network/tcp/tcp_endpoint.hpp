// Sockets as the transport of a session device.
// Sources: tcp_endpoint.cpp (drive, polling), connect.cpp (reaching peers), write_records.cpp (sending),
// receive.cpp, liveness.cpp. What is not copied is sent by a PieceSender and received by a PieceReceiver.
#pragma once

#include "base/log.hpp"
#include "bootstrap/bootstrap.hpp"
#include "network/session/courier/courier.hpp"
#include "network/session/link/peers.hpp"
#include "network/session/link/transport.hpp"
#include "network/session/packets/packet_memory.hpp"
#include "network/tcp/connection/connection.hpp"
#include "network/tcp/connection/connection_owner.hpp"
#include "network/tcp/connection/offers.hpp"
#include "network/tcp/connection/piece_receiver.hpp"
#include "network/tcp/connection/piece_sender.hpp"
#include "network/tcp/connection/transfer_table.hpp"
#include "sockets/acceptor.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace weft::network::tcp {

/// Resources that the endpoints of a rank share.
struct EndpointContext {
  const Membership& membership;
  Acceptor& acceptor;
  Offers& offers;
  NamedMemory& regions;
  session::Peers& peers;
  session::PacketMemory& packets;
  bootstrap::Bootstrap& bootstrap;
  detail::PayloadLender& copier;
  const base::Log& log;
  const std::vector<Interface>& interfaces;
  session::Courier& courier;
  std::uint64_t network_namespace;
  std::size_t message_bytes;  // longest message, session header included
};

class TcpEndpoint final : public session::Transport, private ConnectionOwner {
 public:
  /// Opens the endpoint of a device index and publishes its addresses. Throws weft::Error.
  TcpEndpoint(const EndpointContext& context, std::uint32_t index);
  ~TcpEndpoint() override;

  // connect.cpp
  bool connect(session::Link& link, std::span<const std::byte> address) noexcept override;
  // write_records.cpp
  session::Sent transmit(session::Link& link, const session::Header& header, Bytes payload) noexcept override;
  session::Sent transmit_packet(session::Link& link, const session::Header& header, std::uint32_t packet,
                                std::size_t size) noexcept override;
  [[nodiscard]] std::byte* take_frame() noexcept override;
  [[nodiscard]] std::size_t frame_bytes() const noexcept override { return kFrameBytes; }
  session::Sent transmit_frame(session::Link& link, std::byte* frame, std::size_t begin,
                               std::size_t size) noexcept override;
  [[nodiscard]] bool has_room_for_bulk() const noexcept override { return true; }
  [[nodiscard]] bool is_carrying() const noexcept override;
  [[nodiscard]] bool notices_end_of(const session::Link& link) const noexcept override;
  [[nodiscard]] bool is_reaching(const session::Link& link) const noexcept override;
  /// What the peer's kernel has acknowledged is read by the peer, whatever becomes of this rank.
  [[nodiscard]] bool outlives_sender() const noexcept override { return true; }
  [[nodiscard]] bool can_fetch() const noexcept override { return true; }
  [[nodiscard]] Offer offer(Bytes memory) noexcept override {
    // Peers only read it.
    return {context_.offers.add({const_cast<std::byte*>(memory.data()), memory.size()}), nullptr};
  }
  void end_offer(const Offer& offer) noexcept override { context_.offers.end(offer.key); }
  AccessResult fetch(session::Link& link, const OfferedMemory& from, std::span<std::byte> to,
                     std::uint64_t token) noexcept override;
  [[nodiscard]] bool can_access(std::size_t size) const noexcept override {
    // Shorter ones travel with other messages, which costs less than a record and an answer of their own.
    return size > kFrameBytes;
  }
  AccessResult get(session::Link& link, const RemoteMemory& from, std::span<std::byte> to,
                   std::uint64_t token) noexcept override;
  AccessResult put(session::Link& link, const RemoteMemory& to, Bytes from,
                   std::uint64_t token) noexcept override;
  void stop() noexcept override;
  // tcp_endpoint.cpp
  void end_connections_with(int rank, session::SessionDevice& device) noexcept override;
  void drive(session::SessionDevice& device) noexcept override;
  void carry(session::SessionDevice&) noexcept override {
    if (!writing_.empty()) write_waiting();
  }
  [[nodiscard]] bool is_laden() const noexcept override { return is_laden_.load(std::memory_order_relaxed); }
  [[nodiscard]] Unsent unsent(const session::Link& link) const noexcept override;
  [[nodiscard]] session::ReceiveBuffers& buffers() noexcept override { return chunks_; }
  [[nodiscard]] int wait_descriptor() const noexcept override { return epoll_.get(); }
  [[nodiscard]] bool may_sleep() noexcept override;
  [[nodiscard]] std::chrono::nanoseconds longest_sleep() const noexcept override {
    return std::chrono::nanoseconds(look_interval());
  }

 private:
  static constexpr std::size_t kFrames = 32;

  // tcp_endpoint.cpp
  [[nodiscard]] Connection& connection_of(int rank, std::uint8_t device);
  void watch(Connection& connection, bool for_room) noexcept;
  [[nodiscard]] bool looks_for_arrivals() noexcept;
  void poll_events(session::SessionDevice& device) noexcept;
  void write_later(Connection& connection) noexcept override;
  void write_waiting() noexcept;
  void lose(Connection& connection, const std::string& why) noexcept override;
  void read_unread(session::SessionDevice& device) noexcept;
  void read_broken(session::SessionDevice& device) noexcept;
  void end_lost(session::SessionDevice& device) noexcept;
  // liveness.cpp
  [[nodiscard]] std::int64_t look_interval() const noexcept;
  /// Loses the peers that have owed an acknowledgement for longer than peer_timeout.
  void look_after_peers(std::int64_t now) noexcept;
  // connect.cpp
  void take_accepted(session::SessionDevice& device) noexcept;
  void adopt(std::unique_ptr<Accepted> accepted, session::SessionDevice& device);
  void open(Connection& connection, base::Descriptor socket) noexcept;
  void connect_to_itself(Connection& connection);
  void set_search_timer(bool on) noexcept;
  void search_on() noexcept;
  void advance(Connection& connection, session::SessionDevice& device) noexcept;
  void watch_attempt(Connection& connection, const Attempt& attempt, int operation,
                     std::uint32_t for_what) noexcept;
  void search_on(Connection& connection, std::int64_t now, bool is_tick) noexcept;
  void begin_next(Connection& connection) noexcept;
  /// Returns false when the attempt has failed, or is not needed any more.
  bool go_on(Connection& connection, Attempt& attempt, session::SessionDevice& device) noexcept;
  // write_records.cpp
  session::Sent write(session::Link& link, session::Kind kind, Bytes header, Bytes payload) noexcept;
  bool note(Connection& connection, Output::Result result) noexcept override;
  // receive.cpp
  /// Returns true when something has come.
  bool read(Connection& connection, session::SessionDevice& device) noexcept;
  void take_records(Connection& connection, session::SessionDevice& device) noexcept;
  /// Returns false when the record is not whole, or the connection is lost.
  bool take_record(Connection& connection, session::SessionDevice& device) noexcept;
  bool take_message(Connection& connection, const Record& record, session::SessionDevice& device) noexcept;
  bool is_whole(const Connection& connection, const Record& record) const noexcept;
  [[nodiscard]] bool make_room(Connection& connection) noexcept;

  const EndpointContext& context_;
  const std::uint8_t index_;
  Chunks chunks_;
  base::Descriptor epoll_;
  base::Descriptor search_timer_;  // while there are searches
  Inbox inbox_;
  std::map<std::pair<int, std::uint8_t>, std::unique_ptr<Connection>> connections_;
  std::unique_ptr<Connection> own_end_;  // of the connection of the device with itself: the other end
  std::vector<Connection*> writing_;     // that have something to write
  std::vector<Connection*> searching_;
  std::vector<Connection*> unread_;  // whose streams have more, whatever their sockets have
  std::vector<Connection*> broken_;  // that have to be read to their end
  std::vector<Connection*> lost_;    // whose fetches have to be ended
  Connection* hot_ = nullptr;      // of the last message: is read without being asked whether it is readable
  bool has_found_others_ = false;  // when connections were last asked which of them is readable
  std::uint32_t drives_ = 0;
  bool has_written_ = false;        // a message, since the last drive
  bool has_found_nothing_ = false;  // at the last look for arrivals
  std::uint32_t looks_ = 0;
  std::uint32_t skipped_looks_ = 0;
  std::atomic<bool> is_laden_{false};     // writing_ has connections
  std::atomic<bool> is_restless_{false};  // drive() must be called soon, although nothing comes
  bool searches_are_due_ = false;
  std::int64_t next_tick_ = 0;          // of the searches
  bool has_opened_ = false;             // a connection, since the last drive
  std::atomic<bool> has_slept_{false};  // a thread has slept since drive() last looked at the clock
  std::int64_t next_look_ = 0;          // after peers; of base::now_ns()
  TransferTable transfers_;
  PieceSender pieces_;
  PieceReceiver landings_;
  std::unique_ptr<std::byte[]> frame_memory_;
  std::vector<std::byte*> free_frames_;
};

}  // namespace weft::network::tcp
