// Memory that the endpoints of two ranks write and read in each other: fetches, by which a receiver reads a
// payload from memory that its sender has offered, and landings, into which a sender puts it; puts and gets
// of regions, whose keys may be stale (provider_accesses.hpp).
//
// Every other key belongs to one rendezvous: the sender keeps an offer until the receiver has said that it
// needs it no more, the receiver a landing until the put has come. So no access names a stale key, which
// providers answer by closing the connection (docs/decisions/007).
#include "network/ofi/ofi_endpoint.hpp"
#include "network/session/session_device.hpp"

#include <weft/error.hpp>

namespace weft::network::ofi {

Offer OfiEndpoint::offer(Bytes memory, RegionName) noexcept try {
  // libfabric takes memory that it may write; peers can only read it.
  const std::span<std::byte> source{const_cast<std::byte*>(memory.data()), memory.size()};
  Fabric& fabric = context_.fabric;
  Owned<fid_mr> registration = fabric.register_source(source, *endpoint_);
  const std::uint64_t key = ::fi_mr_key(registration.get());
  if (key == 0 || key == FI_KEY_NOTAVAIL) return {};
  return {key, registration.release()};
} catch (const Error& error) {
  context_.log.info([&] { return "a payload is sent in fragments: " + std::string(error.what()); });
  return {};
}

void OfiEndpoint::end_offer(const Offer& offer) noexcept {
  Owned<fid_mr>(static_cast<fid_mr*>(offer.registration)).reset();
}

OfiEndpoint::Sending* OfiEndpoint::take_access(session::Link& link, std::uint64_t token) noexcept {
  Sending* const sending = take_sending();
  if (sending == nullptr) return nullptr;
  sending->kind = Transfer::Kind::access;
  sending->link = &link;
  sending->token = token;
  return sending;
}

AccessResult OfiEndpoint::begun(Sending& sending, session::Sent sent) noexcept {
  if (sent == session::Sent::yes) return AccessResult::posted;
  end(sending);
  return sent == session::Sent::later ? AccessResult::no_slot : AccessResult::peer_left;
}

AccessResult OfiEndpoint::fetch(session::Link& link, const OfferedMemory& from, std::span<std::byte> to,
                                std::uint64_t token) noexcept try {
  Fabric& fabric = context_.fabric;
  if (is_closed(link)) return AccessResult::peer_left;
  if (to.size() > fabric.info().ep_attr->max_msg_size) return AccessResult::unsupported;
  Sending* const sending = take_access(link, token);
  if (sending == nullptr) return AccessResult::no_slot;
  try {
    sending->registration = fabric.register_local(to);
  } catch (...) {
    end(*sending);
    throw;
  }
  const std::uint64_t address = (fabric.has_virtual_addresses() ? from.address : 0) + from.offset;
  return begun(*sending, outcome(link, ::fi_read(endpoint_.get(), to.data(), to.size(),
                                                 descriptor_of(sending->registration), link.address, address,
                                                 from.key, &sending->raw)));
} catch (const Error& error) {
  context_.log.info([&] { return "a payload is asked for in fragments: " + std::string(error.what()); });
  return AccessResult::unsupported;
}

Landing OfiEndpoint::open_landing(std::span<std::byte> memory) noexcept try {
  if (landing_bytes() == 0) return {};
  has_landings_.store(true, std::memory_order_relaxed);
  Fabric& fabric = context_.fabric;
  if (memory.size() > fabric.info().ep_attr->max_msg_size) return {};
  Owned<fid_mr> registration = fabric.register_landing(memory, *endpoint_);
  const std::uint64_t key = ::fi_mr_key(registration.get());
  if (key == FI_KEY_NOTAVAIL) return {};
  const std::uint64_t address =
      fabric.has_virtual_addresses() ? reinterpret_cast<std::uint64_t>(memory.data()) : 0;
  return {address, key, registration.release()};
} catch (const Error& error) {
  context_.log.info([&] { return "a payload is asked for in fragments: " + std::string(error.what()); });
  return {};
}

void OfiEndpoint::close_landing(const Landing& landing) noexcept {
  Owned<fid_mr>(static_cast<fid_mr*>(landing.registration)).reset();
}

AccessResult OfiEndpoint::land(session::Link& link, const RemoteLanding& to, Bytes from, const Offer& offer,
                               std::uint64_t token) noexcept {
  if (landing_bytes() == 0) return AccessResult::unsupported;
  if (is_closed(link)) return AccessResult::peer_left;
  Sending* const sending = take_access(link, token);
  if (sending == nullptr) return AccessResult::no_slot;
  auto* const registration = static_cast<fid_mr*>(offer.registration);
  void* descriptor = registration != nullptr ? ::fi_mr_desc(registration) : nullptr;
  const iovec piece{const_cast<std::byte*>(from.data()), from.size()};
  const fi_rma_iov target{to.address, from.size(), to.key};
  const fi_msg_rma message{&piece, &descriptor, 1, link.address, &target, 1, &sending->raw, to.name};
  // Ends when the bytes are there, not when they have left: this rank may leave then.
  constexpr std::uint64_t kFlags = FI_REMOTE_CQ_DATA | FI_COMPLETION | FI_DELIVERY_COMPLETE;
  return begun(*sending, outcome(link, ::fi_writemsg(endpoint_.get(), &message, kFlags)));
}

AccessResult OfiEndpoint::put(session::Link& link, const RemoteMemory& to, Bytes from,
                              const std::uint64_t* immediate, std::uint64_t token) noexcept {
  // libfabric takes memory that it may write; a put is only read.
  const std::span<std::byte> source{const_cast<std::byte*>(from.data()), from.size()};
  RegionAccess access{.direction = RegionAccess::Direction::put, .memory = source, .token = token};
  if (immediate != nullptr) {
    access.has_signal = true;
    access.value = static_cast<std::uint32_t>(*immediate);
  }
  const AccessResult result = accesses_->begin(link, to, access);
  if (result == AccessResult::posted) note_sent();
  return result;
}

AccessResult OfiEndpoint::get(session::Link& link, const RemoteMemory& from, std::span<std::byte> to,
                              std::uint64_t token) noexcept {
  const AccessResult result =
      accesses_->begin(link, from, {.direction = RegionAccess::Direction::get, .memory = to, .token = token});
  if (result == AccessResult::posted) note_sent();
  return result;
}

void OfiEndpoint::stop() noexcept {
  endpoint_.reset();
  if (accesses_ != nullptr) accesses_->close();
}

}  // namespace weft::network::ofi
