// For builds without Asio.
#include "study/parcelports/tcp/tcp_port.hpp"

namespace weft::parcel::ports {

std::string why_no_tcp() { return "this build has no Asio: install libasio-dev and build again"; }

std::unique_ptr<Parcelport> make_tcp_port(PortSetup&) { return nullptr; }

}  // namespace weft::parcel::ports
