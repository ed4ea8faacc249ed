// A token travels a thousand times around the ranks; every rank adds one to it.

#include <cstdint>
#include <cstdio>
#include <cstring>

#include <weft/weft.hpp>

int main() {
  weft::Runtime runtime;
  weft::Endpoint endpoint{runtime};
  weft::CompletionQueue inbox;
  auto remote = runtime.expose(inbox, {.id = 1});

  std::uint64_t hops = 0;
  const int next = (runtime.rank() + 1) % runtime.size();
  if (runtime.rank() == 0) static_cast<void>(endpoint.send_am(next, remote, weft::bytes_of(hops)));
  for (int round = 0; round < 1000; ++round) {
    weft::Message message = endpoint.wait(inbox);
    hops = message.as<std::uint64_t>() + 1;
    if (runtime.rank() != 0 || round < 999)
      static_cast<void>(endpoint.send_am(next, remote, weft::bytes_of(hops)));
  }

  if (runtime.rank() == 0)
    std::printf("ring of %d: %llu hops\n", runtime.size(), static_cast<unsigned long long>(hops));
  char headers[32];
  std::snprintf(headers, sizeof headers, "%d.%d.%d", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR,
                WEFT_VERSION_PATCH);
  if (std::strcmp(headers, weft::library_version()) != 0) {
    std::fprintf(stderr, "headers are %s, the library is %s\n", headers, weft::library_version());
    return 1;
  }
  return 0;
}
