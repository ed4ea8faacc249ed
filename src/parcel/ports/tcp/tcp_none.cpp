// For builds without Asio.
#include <weft/error.hpp>

#include "parcel/ports/tcp/tcp_port.hpp"

namespace weft::parcel {

std::unique_ptr<Parcelport> make_tcp_port(std::unique_ptr<weft::Runtime>, const RuntimeOptions&) {
  throw Error(
      "parcel option port is 'tcp', which this build does not have: install libasio-dev and build again");
}

}  // namespace weft::parcel
