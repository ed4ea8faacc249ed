// The objects of libfabric that make up an endpoint. All throw weft::Error.
#pragma once

#include "network/ofi/libfabric/fabric.hpp"

#include <cstddef>
#include <vector>

namespace weft::network::ofi {

struct Completions {
  Owned<fid_cq> queue;
  int wait_descriptor = -1;  // negative: the provider has none
};

[[nodiscard]] Owned<fid_av> open_addresses(const Fabric& fabric);
[[nodiscard]] Completions open_completions(const Fabric& fabric);
/// Ready for use, with these addresses and completions.
[[nodiscard]] Owned<fid_ep> open_endpoint(const Fabric& fabric, fid_cq& completions, fid_av& addresses);
/// By which peers reach the endpoint.
[[nodiscard]] std::vector<std::byte> address_of(const Fabric& fabric, fid_ep& endpoint);

}  // namespace weft::network::ofi
