#include "study/parcelports/parcelports.hpp"

#include <weft/parcel/ports/parcelport_kind.hpp>

#include <utility>

#include "study/parcelports/connections/connection_port.hpp"
#include "study/parcelports/mpi/mpi_two_sided.hpp"
#include "study/parcelports/tcp/tcp_port.hpp"
#include "study/parcelports/weft/weft_two_sided.hpp"

namespace weft::parcel::ports {

namespace {

using Made = std::unique_ptr<Parcelport>;

Made over_connections(std::unique_ptr<TwoSided> transport, const PortSetup& setup) {
  return make_connection_port(std::move(transport), setup.choice("retries", {"shared", "own"}) == 1);
}
template <HeaderBy header>
Made over_weft(PortSetup& setup) {
  return over_connections(make_weft_two_sided(setup, header), setup);
}
template <MpiForm form>
Made over_mpi(PortSetup& setup) {
  return over_connections(make_mpi_two_sided(setup, form), setup);
}

}  // namespace

void register_all() {
  static const bool is_done = [] {
    ParcelportKind kinds[] = {
        {.name = "tcp", .why_not = why_no_tcp, .make = make_tcp_port},
        {.name = "putsendrecv",
         .options = {{"followup_completion", false}, {"followup_devices"}, {"retries", false}},
         .has_devices = true,
         .make = over_weft<HeaderBy::active_message>},
        {.name = "sendrecv",
         .options = {{"header_completion", false},
                     {"followup_completion", false},
                     {"followup_devices"},
                     {"retries", false}},
         .has_devices = true,
         .make = over_weft<HeaderBy::send>},
        {.name = "mpi",
         .options = {{"mpi_library", false}, {"retries", false}},
         .make = over_mpi<MpiForm::window>},
        {.name = "mpi-original",
         .options = {{"mpi_library", false}, {"retries", false}},
         .make = over_mpi<MpiForm::original>},
    };
    for (ParcelportKind& kind : kinds) register_parcelport(std::move(kind));
    return true;
  }();
  static_cast<void>(is_done);
}

}  // namespace weft::parcel::ports
