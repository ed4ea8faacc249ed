#include "network/ofi/access_endpoints.hpp"

namespace weft::network::ofi {

AccessEndpoints::AccessEndpoints(const Fabric& fabric)
    : fabric_(fabric),
      addresses_(open_addresses(fabric)),
      completions_(open_completions(fabric)),
      incoming_(open_endpoint(fabric, *completions_.queue, *addresses_)),
      outgoing_(open_endpoint(fabric, *completions_.queue, *addresses_)) {}

fi_addr_t AccessEndpoints::insert(std::span<const std::byte> address) noexcept {
  fi_addr_t made = FI_ADDR_UNSPEC;
  if (address.size() != address_bytes_ ||
      ::fi_av_insert(addresses_.get(), address.data(), 1, &made, 0, nullptr) != 1)
    return FI_ADDR_UNSPEC;
  return made;
}

void AccessEndpoints::restart() {
  outgoing_.reset();
  outgoing_ = open_endpoint(fabric_, *completions_.queue, *addresses_);
}

}  // namespace weft::network::ofi
