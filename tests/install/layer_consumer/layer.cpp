#include "layer.h"

#include <cstdint>

#include <weft/weft.hpp>

namespace layer {

unsigned long long go_around(int* rank, int* size) {
  weft::Runtime runtime;
  weft::Endpoint endpoint{runtime};
  weft::CompletionQueue inbox;
  const weft::RemoteCompletion remote = runtime.expose(inbox, {.id = 1});
  *rank = runtime.rank();
  *size = runtime.size();
  const int next = (runtime.rank() + 1) % runtime.size();
  std::uint64_t number = 1;
  if (runtime.rank() == 0) static_cast<void>(endpoint.send_am(next, remote, weft::bytes_of(number)));
  number = endpoint.wait(inbox).as<std::uint64_t>() + 1;
  if (runtime.rank() != 0) static_cast<void>(endpoint.send_am(next, remote, weft::bytes_of(number)));
  return number;
}

}  // namespace layer
