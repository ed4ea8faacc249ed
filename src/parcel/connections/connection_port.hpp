// A parcelport of connections: a header message, and follow-up messages under tags. The transport says how
// they travel.
#pragma once

#include <weft/parcel/options.hpp>
#include <weft/parcel/parcelport.hpp>

#include <memory>

#include "parcel/connections/two_sided.hpp"

namespace weft::parcel {

[[nodiscard]] std::unique_ptr<Parcelport> make_connection_port(std::unique_ptr<TwoSided> transport,
                                                               const RuntimeOptions& options);

}  // namespace weft::parcel
