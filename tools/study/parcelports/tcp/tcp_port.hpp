// The parcelport over TCP sockets, by Asio.
#pragma once

#include <weft/parcel/ports/parcelport_kind.hpp>

#include <memory>
#include <string>

namespace weft::parcel::ports {

/// The runtime of weft below tells the ranks each other's addresses and the secret of the job; no parcel goes
/// over it.
[[nodiscard]] std::unique_ptr<Parcelport> make_tcp_port(PortSetup& setup);
/// In builds without Asio; else empty.
[[nodiscard]] std::string why_no_tcp();

}  // namespace weft::parcel::ports
