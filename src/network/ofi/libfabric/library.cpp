#include "network/ofi/libfabric/library.hpp"

#include <weft/error.hpp>

#include <dlfcn.h>
#include <strings.h>
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

/// ofi_rxm: one pool of receive buffers an endpoint, of 4 MiB, instead of one of 2 MiB for each connection.
/// Without it, closing a connection posts receives to an endpoint that has just been freed, when messages
/// for it are still unread: over verbs one job in ten of four ranks ended so (libfabric 1.17; its issue
/// 11828).
void share_receive_buffers() {
  constexpr const char* kVariable = "FI_OFI_RXM_USE_SRX";
  ::setenv(kVariable, "1", 0);
  const std::string value = ::getenv(kVariable);
  for (const char* const no : {"0", "no", "false", "off"})  // as libfabric reads it
    if (::strcasecmp(value.c_str(), no) == 0)
      throw Error(ErrorClass::network, "ofi: the environment has " + std::string(kVariable) + "=" + value +
                                           ", with which libfabric crashes when connections end: unset it, "
                                           "or set it to 1");
}

Library load() {
  // Otherwise providers for missing hardware would write a stack trace into the working directory of every
  // program that is ended by a signal.
  ::setenv("IPATH_NO_BACKTRACE", "1", 0);
  ::setenv("HFI_NO_BACKTRACE", "1", 0);
  share_receive_buffers();
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
