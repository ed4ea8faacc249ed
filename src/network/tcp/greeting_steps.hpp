// What looking for a peer and greeting it have in common.
#pragma once

#include "network/session/session_device.hpp"
#include "network/tcp/connection/connection.hpp"

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::network::tcp {

inline constexpr std::int64_t kNextAddress =
    250'000'000;  // nanoseconds until the next address is tried as well
/// What the connecting side sends with its proof: a record with its hello.
inline constexpr std::size_t kLongestOpening = sizeof(Record) + padded(session::kLongestHello);

inline void note_fault(Search& search, const Address& address, const std::string& why) {
  if (search.faults.find(to_text(address, search.port)) != std::string::npos) return;
  search.faults += (search.faults.empty() ? "" : ", ") + to_text(address, search.port) + " (" + why + ")";
}

template <class Object>
bool send_whole(int socket, const Object& object) noexcept {
  return ::send(socket, &object, sizeof object, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(sizeof object);
}

}  // namespace weft::network::tcp
