// The parcelport over weft: shared memory, sockets, libfabric, and, for tests, the simulated network.
#pragma once

#include <weft/parcel/options.hpp>
#include <weft/parcel/parcelport.hpp>

#include <memory>

namespace weft::parcel {

[[nodiscard]] std::unique_ptr<Parcelport> make_weft_port(std::unique_ptr<weft::Runtime> runtime,
                                                         const RuntimeOptions& options);

}  // namespace weft::parcel
