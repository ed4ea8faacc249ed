// The parcelport over TCP sockets, by Asio.
#pragma once

#include <weft/parcel/options.hpp>
#include <weft/parcel/parcelport.hpp>

#include <memory>

namespace weft::parcel {

/// `runtime` tells the ranks each other's addresses and the secret of the job; no parcel goes over it. Throws
/// weft::Error where the build has no Asio.
[[nodiscard]] std::unique_ptr<Parcelport> make_tcp_port(std::unique_ptr<weft::Runtime> runtime,
                                                        const RuntimeOptions& options);

}  // namespace weft::parcel
