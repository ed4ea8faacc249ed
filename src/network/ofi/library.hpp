// libfabric, loaded when it is first asked for.
//
// Programs that do not use it are not linked with it: it and its providers cost a process milliseconds to
// load, and some of them install signal handlers that leave files behind when a program fails.
#pragma once

#include <rdma/fabric.h>

namespace weft::network::ofi {

/// The functions that are not calls through libfabric's own objects.
struct Library {
  decltype(&::fi_getinfo) getinfo;
  decltype(&::fi_freeinfo) freeinfo;
  decltype(&::fi_dupinfo) dupinfo;
  decltype(&::fi_fabric) fabric;
  decltype(&::fi_strerror) strerror;
};

/// Any thread. Throws weft::Error when there is no libfabric on this host.
[[nodiscard]] const Library& library();

}  // namespace weft::network::ofi
