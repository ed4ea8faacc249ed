// libfabric, loaded at first use.
//
// weft is not linked with it: libfabric and its providers cost a process milliseconds to load, and some of
// them install signal handlers that leave files behind when a program fails.
#pragma once

#include <rdma/fabric.h>

namespace weft::network::ofi {

/// The functions of libfabric that are not called through its objects.
struct Library {
  decltype(&::fi_getinfo) getinfo;
  decltype(&::fi_freeinfo) freeinfo;
  decltype(&::fi_dupinfo) dupinfo;
  decltype(&::fi_fabric) fabric;
  decltype(&::fi_strerror) strerror;
};

/// Returns libfabric's functions. Any thread. Throws weft::Error when there is no libfabric on this host.
[[nodiscard]] const Library& library();

}  // namespace weft::network::ofi
