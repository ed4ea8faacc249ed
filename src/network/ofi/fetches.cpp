// Fetches: payloads that the receiver reads from registered memory of the sender (RMA).
//
// Every key belongs to one rendezvous, whose sender keeps the registration until the receiver has said that
// it needs it no more. So no fetch names a stale key, which some providers answer by closing the connection
// (docs/decisions/007).
#include "network/ofi/ofi_endpoint.hpp"
#include "network/session/session_device.hpp"

#include <weft/error.hpp>

namespace weft::network::ofi {

Offer OfiEndpoint::offer(Bytes memory) noexcept try {
  if (!can_fetch()) return {};
  // libfabric takes memory that it may write; peers can only read it.
  Owned<fid_mr> registration =
      context_.fabric.register_source({const_cast<std::byte*>(memory.data()), memory.size()});
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

AccessResult OfiEndpoint::fetch(session::Link& link, const OfferedMemory& from, std::span<std::byte> to,
                                std::uint64_t token) noexcept try {
  Fabric& fabric = context_.fabric;
  if (to.size() > fabric.info().ep_attr->max_msg_size) return AccessResult::unsupported;
  Sending* const sending = take_sending();
  if (sending == nullptr) return AccessResult::no_slot;
  sending->kind = Transfer::Kind::fetch;
  sending->link = &link;
  sending->token = token;
  try {
    sending->registration = fabric.register_local(to);
  } catch (...) {
    end(*sending);
    throw;
  }
  const std::uint64_t address = (fabric.has_virtual_addresses() ? from.address : 0) + from.offset;
  const session::Sent sent =
      outcome(link, ::fi_read(endpoint_.get(), to.data(), to.size(), descriptor_of(sending->registration),
                              link.address, address, from.key, &sending->raw));
  if (sent == session::Sent::yes) return AccessResult::posted;
  end(*sending);
  return sent == session::Sent::later ? AccessResult::no_slot : AccessResult::peer_left;
} catch (const Error& error) {
  context_.log.info([&] { return "a payload is asked for in fragments: " + std::string(error.what()); });
  return AccessResult::unsupported;
}

void OfiEndpoint::stop() noexcept { endpoint_.reset(); }

}  // namespace weft::network::ofi
