// Memory that two ranks write and read in each other: fetches, by which a receiver reads a payload from
// memory that its sender has offered, and landings, into which a sender puts it.
//
// Every key belongs to one rendezvous: the sender keeps an offer until the receiver has said that it needs it
// no more, the receiver a landing until the put has come. So no access names a stale key, which would break
// the connection.
//
// Puts and gets of regions, whose keys may be stale: region_accesses.hpp.
#include "network/ibv/ibv_endpoint.hpp"

#include <weft/error.hpp>

#include <arpa/inet.h>

#include <exception>
#include <memory>
#include <utility>

namespace weft::network::ibv {

using session::Sent;

namespace {

/// Makes a key of verbs, which may be 0, one of an offer, which may not.
constexpr std::uint64_t kIsKey = std::uint64_t{1} << 32;

AccessResult post_access(Posting& posting, Connection& connection, ibv_sge piece, ibv_send_wr& request,
                         Work work) noexcept {
  request.sg_list = &piece;
  request.num_sge = 1;
  const Sent sent = posting.post(connection, request, std::move(work));
  if (sent == Sent::yes) return AccessResult::posted;
  return sent == Sent::later ? AccessResult::no_slot : AccessResult::peer_left;
}

}  // namespace

Offer IbvEndpoint::offer(Bytes memory, RegionName region) noexcept try {
  // Verbs take memory that they may write; peers can only read it.
  const std::span<std::byte> source{const_cast<std::byte*>(memory.data()), memory.size()};
  auto offered = std::make_unique<LocalRegistration>(
      context_.fetches ? context_.device.register_memory(source, IBV_ACCESS_REMOTE_READ)
                       : context_.regions.local(source, 0, region));
  const std::uint64_t key = kIsKey | (*offered)->rkey;
  return {key, offered.release()};
} catch (const std::exception& error) {
  context_.log.info([&] { return "a payload is sent in fragments: " + std::string(error.what()); });
  return {};
}

void IbvEndpoint::end_offer(const Offer& offer) noexcept {
  delete static_cast<LocalRegistration*>(offer.registration);
}

AccessResult IbvEndpoint::fetch(session::Link& link, const OfferedMemory& from, std::span<std::byte> to,
                                std::uint64_t token) noexcept try {
  if (to.size() > context_.device.port().max_msg_sz) return AccessResult::unsupported;
  Connection& connection = connections_.of(link);
  // Before the memory is registered, which is dear.
  if (!connection.is_closed && !posting_.may_post(connection)) return AccessResult::no_slot;
  Work work{.kind = Work::Kind::access, .token = token};
  work.registration = context_.regions.local(to, kLocalAccess);
  const ibv_sge piece = piece_of(to.data(), to.size(), work.registration->lkey);
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_READ;
  request.wr.rdma = {from.address + from.offset, static_cast<std::uint32_t>(from.key)};
  return post_access(posting_, connection, piece, request, std::move(work));
} catch (const std::exception& error) {
  context_.log.info([&] { return "a payload is asked for in fragments: " + std::string(error.what()); });
  return AccessResult::unsupported;
}

Landing IbvEndpoint::open_landing(std::span<std::byte> memory) noexcept try {
  if (memory.size() > context_.device.port().max_msg_sz) return {};
  Registration registration = context_.device.register_memory(memory, kLocalAccess | IBV_ACCESS_REMOTE_WRITE);
  const std::uint32_t key = registration->rkey;
  return {reinterpret_cast<std::uint64_t>(memory.data()), key, registration.release()};
} catch (const Error& error) {
  context_.log.info([&] { return "a payload is asked for in fragments: " + std::string(error.what()); });
  return {};
}

void IbvEndpoint::close_landing(const Landing& landing) noexcept {
  Registration(static_cast<ibv_mr*>(landing.registration)).reset();
}

/// The write takes one receive buffer of the peer for its name. No credit is needed for that: the buffer
/// comes back when the peer polls next, and it has some that no message of a link may hold.
AccessResult IbvEndpoint::land(session::Link& link, const RemoteLanding& to, Bytes from, const Offer& offer,
                               std::uint64_t token) noexcept {
  const auto& registration = *static_cast<const LocalRegistration*>(offer.registration);
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  request.imm_data = ::htonl(static_cast<std::uint32_t>(to.name));
  request.wr.rdma = {to.address, static_cast<std::uint32_t>(to.key)};
  return post_access(posting_, connections_.of(link), piece_of(from.data(), from.size(), registration->lkey),
                     request, {.kind = Work::Kind::access, .token = token});
}

bool IbvEndpoint::can_access(std::size_t size) const noexcept {
  return size != 0 && size <= context_.device.port().max_msg_sz;
}

AccessResult IbvEndpoint::put(session::Link& link, const RemoteMemory& to, Bytes from,
                              const std::uint64_t* immediate, std::uint64_t token) noexcept {
  RegionAccess access;
  access.token = token;
  access.opcode = immediate != nullptr ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
  access.immediate = immediate != nullptr ? static_cast<std::uint32_t>(*immediate) : 0;
  access.local = const_cast<std::byte*>(from.data());
  access.size = from.size();
  return region_accesses_.begin(connections_.of(link), to, std::move(access));
}

AccessResult IbvEndpoint::get(session::Link& link, const RemoteMemory& from, std::span<std::byte> to,
                              std::uint64_t token) noexcept {
  RegionAccess access;
  access.token = token;
  access.opcode = IBV_WR_RDMA_READ;
  access.local = to.data();
  access.size = to.size();
  return region_accesses_.begin(connections_.of(link), from, std::move(access));
}

AccessResult IbvEndpoint::atomic(session::Link& link, const RemoteMemory& where, const NativeAtomic& change,
                                 std::byte* old, std::uint64_t token) noexcept {
  RegionAccess access;
  access.token = token;
  access.opcode = change.is_compare_swap ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD;
  access.change = change;
  access.local = old;
  access.size = sizeof change.operand;
  return region_accesses_.begin(connections_.of(link), where, std::move(access));
}

}  // namespace weft::network::ibv
