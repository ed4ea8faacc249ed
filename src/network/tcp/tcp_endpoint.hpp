// Sockets as the transport of a session device.
// Its parts: Connector (reaching peers), RecordReader (receiving), WaitingWrites (what sockets have not
// taken), Liveness; what is not copied is sent by a PieceSender and received by a PieceReceiver. Sources of
// the endpoint itself: tcp_endpoint.cpp (drive, polling), write_records.cpp (sending).
#pragma once

#include "network/session/link/transport.hpp"
#include "network/tcp/connection/chunks.hpp"
#include "network/tcp/connection/connection.hpp"
#include "network/tcp/connection/connection_owner.hpp"
#include "network/tcp/connection/offers.hpp"
#include "network/tcp/connection/piece_receiver.hpp"
#include "network/tcp/connection/piece_sender.hpp"
#include "network/tcp/connection/transfer_table.hpp"
#include "network/tcp/connector.hpp"
#include "network/tcp/endpoint_context.hpp"
#include "network/tcp/liveness.hpp"
#include "network/tcp/record_reader.hpp"
#include "network/tcp/waiting_writes.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace weft::network::tcp {

class TcpEndpoint final : public session::Transport, private ConnectionOwner {
 public:
  /// Opens the endpoint of a device index and publishes its addresses. Throws weft::Error.
  TcpEndpoint(const EndpointContext& context, std::uint32_t index);
  ~TcpEndpoint() override;

  bool connect(session::Link& link, std::span<const std::byte> address) noexcept override;
  // write_records.cpp
  session::Sent transmit(session::Link& link, const session::Header& header, Bytes payload) noexcept override;
  session::Sent transmit_packet(session::Link& link, const session::Header& header, std::uint32_t packet,
                                std::size_t size) noexcept override;
  [[nodiscard]] const std::byte* content_of_packet(std::uint32_t packet) const noexcept override {
    return context_.packets.payload(packet);
  }
  void release_packet(std::uint32_t packet) noexcept override { context_.packets.release(packet); }
  [[nodiscard]] std::byte* take_frame() noexcept override;
  [[nodiscard]] std::size_t frame_bytes() const noexcept override { return frame_bytes_; }
  session::Sent transmit_frame(session::Link& link, std::byte* frame, std::size_t begin,
                               std::size_t size) noexcept override;
  [[nodiscard]] bool has_room_for_bulk() const noexcept override { return true; }
  [[nodiscard]] bool is_carrying() const noexcept override;
  [[nodiscard]] bool notices_end_of(const session::Link& link) const noexcept override;
  [[nodiscard]] bool is_reaching(const session::Link& link) const noexcept override;
  /// What the peer's kernel has acknowledged is read by the peer, whatever becomes of this rank.
  [[nodiscard]] bool outlives_sender() const noexcept override { return true; }
  [[nodiscard]] bool can_fetch() const noexcept override { return true; }
  [[nodiscard]] Offer offer(Bytes memory, RegionName) noexcept override {
    // Peers only read it.
    return {context_.offers.add({const_cast<std::byte*>(memory.data()), memory.size()}), nullptr};
  }
  void end_offer(const Offer& offer) noexcept override { context_.offers.end(offer.key); }
  AccessResult fetch(session::Link& link, const OfferedMemory& from, std::span<std::byte> to,
                     std::uint64_t token) noexcept override;
  [[nodiscard]] bool can_access(std::size_t size) const noexcept override {
    // Shorter ones travel with other messages, which costs less than a record and an answer of their own.
    return size > kLongestSharedAccess;
  }
  AccessResult get(session::Link& link, const RemoteMemory& from, std::span<std::byte> to,
                   std::uint64_t token) noexcept override;
  AccessResult put(session::Link& link, const RemoteMemory& to, Bytes from, const std::uint64_t* immediate,
                   std::uint64_t token) noexcept override;
  void stop() noexcept override;
  // tcp_endpoint.cpp
  void end_connections_with(int rank, session::SessionDevice& device) noexcept override;
  void drive(session::SessionDevice& device) noexcept override;
  void carry(session::SessionDevice&) noexcept override {
    if (!writes_.are_none()) writes_.write();
  }
  [[nodiscard]] bool is_laden() const noexcept override { return writes_.is_laden(); }
  [[nodiscard]] Unsent unsent(const session::Link& link) const noexcept override;
  [[nodiscard]] session::ReceiveBuffers& buffers() noexcept override { return chunks_; }
  [[nodiscard]] int wait_descriptor() const noexcept override { return epoll_.get(); }
  [[nodiscard]] bool may_sleep() noexcept override;
  [[nodiscard]] std::chrono::nanoseconds longest_sleep() const noexcept override {
    return std::chrono::nanoseconds(liveness_.interval());
  }

 private:
  static constexpr std::size_t kFrames = 32;

  // tcp_endpoint.cpp
  [[nodiscard]] Connection& connection_of(int rank, std::uint8_t device) override;
  void lose(Connection& connection, const std::string& why) noexcept override;
  void write_later(Connection& connection) noexcept override { writes_.add(connection); }
  [[nodiscard]] bool looks_for_arrivals() noexcept;
  void poll_events(session::SessionDevice& device) noexcept;
  void read_broken(session::SessionDevice& device) noexcept;
  // write_records.cpp
  session::Sent write(session::Link& link, session::Kind kind, Bytes header, Bytes payload) noexcept;
  bool note(Connection& connection, Output::Result result) noexcept override;

  const EndpointContext& context_;
  const std::uint8_t index_;
  Chunks chunks_;
  base::Descriptor epoll_;
  Connections connections_;
  std::vector<Connection*> broken_;  // that have to be read to their end
  bool has_lost_ = false;            // a connection whose fetches have to be ended
  Connection* hot_ = nullptr;      // of the last message: is read without being asked whether it is readable
  bool has_found_others_ = false;  // when connections were last asked which of them is readable
  std::uint32_t drives_ = 0;
  bool has_written_ = false;        // a message, since the last drive
  bool has_found_nothing_ = false;  // at the last look for arrivals
  std::uint32_t looks_ = 0;
  std::uint32_t skipped_looks_ = 0;
  std::atomic<bool> is_restless_{false};  // drive() must be called soon, although nothing comes
  std::atomic<bool> has_slept_{false};    // a thread has slept since drive() last looked at the clock
  TransferTable transfers_;
  PieceSender pieces_;
  PieceReceiver landings_;
  RecordReader reader_;
  Connector connector_;
  WaitingWrites writes_;
  Liveness liveness_;
  const std::size_t frame_bytes_;
  std::unique_ptr<std::byte[]> frame_memory_;
  std::vector<std::byte*> free_frames_;
};

}  // namespace weft::network::tcp
