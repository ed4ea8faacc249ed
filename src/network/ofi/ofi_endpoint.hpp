// A libfabric endpoint as the transport of a session device.
// Sources: ofi_endpoint.cpp, transfers.cpp, remote_memory.cpp, completions.cpp.
#pragma once

#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "network/ofi/libfabric/endpoint_objects.hpp"
#include "network/ofi/libfabric/fabric.hpp"
#include "network/ofi/provider_accesses.hpp"
#include "network/ofi/receive_buffers.hpp"
#include "network/ofi/registered_packets.hpp"
#include "network/session/courier/courier.hpp"
#include "network/session/link/link.hpp"
#include "network/session/link/peers.hpp"
#include "network/session/link/transport.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace weft::network::ofi {

/// Resources that the endpoints of a rank share.
struct EndpointContext {
  Fabric& fabric;
  session::Peers& peers;
  session::Courier& courier;
  PacketMemory& packets;
  detail::PayloadLender& copier;
  const base::Log& log;
  std::size_t inline_bytes;  // longest payload that is copied into a buffer of the endpoint
  AccessDomain* accesses;    // to regions; null: they go by messages
};

/// Whether the connection with the peer has been ended: nothing can be sent any more.
[[nodiscard]] inline bool is_closed(const session::Link& link) noexcept {
  return link.address == FI_ADDR_UNSPEC;
}

class OfiEndpoint final : public session::Transport {
 public:
  /// Opens the endpoint of a device index and publishes its address. Throws weft::Error.
  OfiEndpoint(const EndpointContext& context, std::uint32_t index);
  ~OfiEndpoint() override;

  // ofi_endpoint.cpp
  bool connect(session::Link& link, std::span<const std::byte> address) noexcept override;
  [[nodiscard]] session::ReceiveBuffers& buffers() noexcept override { return buffers_; }
  [[nodiscard]] int wait_descriptor() const noexcept override;
  [[nodiscard]] bool may_sleep() noexcept override;
  [[nodiscard]] bool is_carrying() const noexcept override;
  [[nodiscard]] bool is_laden() const noexcept override { return is_laden_.load(std::memory_order_relaxed); }
  // transfers.cpp
  session::Sent transmit(session::Link& link, const session::Header& header, Bytes payload) noexcept override;
  session::Sent transmit_packet(session::Link& link, const session::Header& header, std::uint32_t packet,
                                std::size_t size) noexcept override;
  [[nodiscard]] std::byte* take_frame() noexcept override;
  [[nodiscard]] std::size_t frame_bytes() const noexcept override { return frame_bytes_; }
  session::Sent transmit_frame(session::Link& link, std::byte* frame, std::size_t begin,
                               std::size_t size) noexcept override;
  [[nodiscard]] bool has_room_for_bulk() const noexcept override;
  void end_connections_with(int rank, session::SessionDevice& device) noexcept override;
  // remote_memory.cpp
  [[nodiscard]] bool can_fetch() const noexcept override { return true; }
  [[nodiscard]] Offer offer(Bytes memory, RegionName region) noexcept override;
  void end_offer(const Offer& offer) noexcept override;
  AccessResult fetch(session::Link& link, const OfferedMemory& from, std::span<std::byte> to,
                     std::uint64_t token) noexcept override;
  [[nodiscard]] std::size_t landing_bytes() const noexcept override {
    return context_.fabric.immediate_bytes();
  }
  [[nodiscard]] Landing open_landing(std::span<std::byte> memory) noexcept override;
  void close_landing(const Landing& landing) noexcept override;
  AccessResult land(session::Link& link, const RemoteLanding& to, Bytes from, const Offer& offer,
                    std::uint64_t token) noexcept override;
  [[nodiscard]] bool can_access(std::size_t size) const noexcept override {
    // Shorter ones travel with other messages, which costs less than system calls for each.
    return accesses_ != nullptr && size > frame_bytes_;
  }
  AccessResult put(session::Link& link, const RemoteMemory& to, Bytes from, const std::uint64_t* immediate,
                   std::uint64_t token) noexcept override;
  AccessResult get(session::Link& link, const RemoteMemory& from, std::span<std::byte> to,
                   std::uint64_t token) noexcept override;
  void stop() noexcept override;
  // completions.cpp
  void drive(session::SessionDevice& device) noexcept override;

 private:
  static constexpr std::uint32_t kDrivesAfterSending = 64;

  /// A transfer of this endpoint that libfabric has not finished.
  struct Sending : Transfer {
    session::Link* link = nullptr;
    std::uint32_t packet = 0;
    std::uint64_t token = 0;     // of an access: a fetch, or a put into a landing
    Owned<fid_mr> registration;  // of the memory that a fetch writes, where the provider needs it
    std::byte* bytes = nullptr;  // room for a message of sending_bytes_, or for a frame
  };

  session::Sent outcome(session::Link& link, ssize_t result) noexcept;
  [[nodiscard]] ssize_t send_packet(const session::Link& link, const session::Header& header,
                                    Sending& sending, std::size_t size) noexcept;
  [[nodiscard]] Sending* take_sending() noexcept;
  [[nodiscard]] Sending* take_access(session::Link& link, std::uint64_t token) noexcept;
  [[nodiscard]] AccessResult begun(Sending& sending, session::Sent sent) noexcept;
  void end(Sending& sending) noexcept;
  void note_sent() noexcept;
  void note_driven() noexcept;
  void post_receives() noexcept;
  void post_free_buffers() noexcept;
  void on_completion(const fi_cq_data_entry& entry, session::SessionDevice& device) noexcept;
  void on_error(session::SessionDevice& device) noexcept;

  const EndpointContext& context_;
  OfiReceiveBuffers buffers_;
  Owned<fid_av> addresses_;
  Completions completions_;
  Owned<fid_ep> endpoint_;
  const std::unique_ptr<ProviderAccesses> accesses_;  // null: of this transport there are none
  const base::Descriptor sleeping_;  // readable when completions or accesses have come; where there are both
  std::size_t address_bytes_ = 0;    // of a device's address, in front of that of its accesses
  std::size_t inject_bytes_ = 0;
  bool has_two_pieces_ = false;            // a message may be sent as two pieces of memory
  std::size_t sending_bytes_ = 0;          // longest message that a Sending has room for, without its header
  std::size_t frame_bytes_ = 0;            // room of a frame
  std::uint32_t fruitful_reads_ = 0;       // reads of completions in a row that have found some
  std::vector<session::Link*> links_;      // that have been connected
  std::atomic<bool> has_landings_{false};  // one has been opened
  std::atomic<bool> is_laden_{false};      // the provider may need calls to send what it has accepted
  std::uint32_t drives_left_ = 0;          // after which it has sent what it reports no completion of
  std::uint32_t posted_ = 0;               // receives
  ReceiveBuffer* unposted_ = nullptr;      // free buffers that libfabric has not accepted yet
  std::unique_ptr<std::byte[]> sending_memory_;
  Owned<fid_mr> sending_registration_;
  std::vector<Sending> sendings_;
  std::vector<Sending*> free_sendings_;
  std::vector<Sending> frames_;  // of one room each, one behind the other in sending_memory_
  std::vector<Sending*> free_frames_;
};

}  // namespace weft::network::ofi
