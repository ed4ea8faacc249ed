// Whether the other end of a connection is still there.
#pragma once

#include <cstdint>

namespace weft::sockets {

/// Milliseconds for which the other end owes an acknowledgement; 0 while it owes none. Who is stopped or
/// takes nothing for a long time still acknowledges: TCP_USER_TIMEOUT would end connections to such as well,
/// as it counts the time for which nothing was taken.
[[nodiscard]] std::uint32_t silence_of(int socket) noexcept;

}  // namespace weft::sockets
