// A parcelport of connections: a header message, and follow-up messages under tags. The transport says how
// they travel.
#pragma once

#include <weft/parcel/parcelport.hpp>

#include <memory>

#include "study/parcelports/connections/two_sided.hpp"

namespace weft::parcel::ports {

/// `has_own_retries`: messages whose next post was pushed back wait each for its worker, instead of together.
[[nodiscard]] std::unique_ptr<Parcelport> make_connection_port(std::unique_ptr<TwoSided> transport,
                                                               bool has_own_retries);

}  // namespace weft::parcel::ports
