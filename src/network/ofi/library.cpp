#include "network/ofi/library.hpp"

#include <weft/error.hpp>

#include <dlfcn.h>
#include <cstdlib>
#include <string>

namespace weft::network::ofi {

namespace {

constexpr const char* kName = "libfabric.so.1";

template <class Function>
void find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  if (function == nullptr)
    throw Error(ErrorClass::network, "ofi: " + std::string(kName) + " has no function " + name);
}

Library load() {
  // Otherwise providers for missing hardware would write a stack trace into the working directory of every
  // program that is ended by a signal.
  ::setenv("IPATH_NO_BACKTRACE", "1", 0);
  ::setenv("HFI_NO_BACKTRACE", "1", 0);
  // ofi_rxm: one pool of receive buffers an endpoint, of 4 MiB, instead of one of 2 MiB for each connection.
  // Without it, closing a connection posts receives to an endpoint that has just been freed, when messages
  // for it are still unread: over verbs one job in ten of four ranks ended so (libfabric 1.17; its issue
  // 11828).
  ::setenv("FI_OFI_RXM_USE_SRX", "1", 0);
  ::setenv("FI_OFI_RXM_MSG_RX_SIZE", "256", 0);
  // Never closed: its providers have threads and thread-local objects.
  void* const handle = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    throw Error(ErrorClass::network,
                "ofi: libfabric cannot be loaded (" + std::string(::dlerror()) + "): install libfabric1");
  Library library{};
  find(handle, "fi_getinfo", library.getinfo);
  find(handle, "fi_freeinfo", library.freeinfo);
  find(handle, "fi_dupinfo", library.dupinfo);
  find(handle, "fi_fabric", library.fabric);
  find(handle, "fi_strerror", library.strerror);
  return library;
}

}  // namespace

const Library& library() {
  static const Library loaded = load();
  return loaded;
}

}  // namespace weft::network::ofi
