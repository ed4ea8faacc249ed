// Fetches: payloads that the receiver reads from memory which the sender has registered for one rendezvous.
//
// The sender keeps the registration until the receiver has said that it needs it no more, so no read names a
// stale key, which would break the connection.
#include "network/ibv/ibv_endpoint.hpp"

#include <weft/error.hpp>

namespace weft::network::ibv {

using session::Sent;

namespace {

/// Makes a key of verbs, which may be 0, one of an offer, which may not.
constexpr std::uint64_t kIsKey = std::uint64_t{1} << 32;

}  // namespace

Offer IbvEndpoint::offer(Bytes memory) noexcept try {
  // Verbs take memory that they may write; peers can only read it.
  Registration registration = context_.device.register_memory(
      {const_cast<std::byte*>(memory.data()), memory.size()}, IBV_ACCESS_REMOTE_READ);
  const std::uint64_t key = kIsKey | registration->rkey;
  return {key, registration.release()};
} catch (const Error& error) {
  context_.log.info([&] { return "a payload is sent in fragments: " + std::string(error.what()); });
  return {};
}

void IbvEndpoint::end_offer(const Offer& offer) noexcept {
  Registration(static_cast<ibv_mr*>(offer.registration)).reset();
}

AccessResult IbvEndpoint::fetch(session::Link& link, const OfferedMemory& from, std::span<std::byte> to,
                                std::uint64_t token) noexcept try {
  if (to.size() > context_.device.port().max_msg_sz) return AccessResult::unsupported;
  Connection& connection = connections_.of(link);
  // Before the memory is registered, which is dear.
  if (!connection.is_closed && !may_post(connection)) return AccessResult::no_slot;
  Work work{.kind = Work::Kind::fetch, .token = token};
  work.registration = context_.device.register_memory(to, kLocalAccess);
  ibv_sge piece{reinterpret_cast<std::uint64_t>(to.data()), static_cast<std::uint32_t>(to.size()),
                work.registration->lkey};
  ibv_send_wr request{};
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_READ;
  request.wr.rdma = {from.address + from.offset, static_cast<std::uint32_t>(from.key)};
  const Sent sent = post(connection, request, std::move(work));
  if (sent == Sent::yes) return AccessResult::posted;
  return sent == Sent::later ? AccessResult::no_slot : AccessResult::peer_left;
} catch (const Error& error) {
  context_.log.info([&] { return "a payload is asked for in fragments: " + std::string(error.what()); });
  return AccessResult::unsupported;
}

}  // namespace weft::network::ibv
