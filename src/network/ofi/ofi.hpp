// The network over libfabric as the rest of the library sees it; a build without libfabric has ofi_none.cpp.
#pragma once

#include "base/attributes.hpp"
#include "bootstrap/bootstrap.hpp"
#include "network/network.hpp"

#include <memory>
#include <string>

namespace weft::network::ofi {

/// Throws weft::Error where there is no libfabric, or no provider as the attributes ask for.
std::unique_ptr<Network> make_network(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
                                      detail::PayloadLender& copier);

struct Availability {
  bool present = false;
  std::string remark;  // the providers, or why there is none
};
[[nodiscard]] Availability availability(const base::Attributes& attributes);

}  // namespace weft::network::ofi
