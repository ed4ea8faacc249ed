// Bytes that are sent or received whole, within a time limit, over a socket that does not block.
#pragma once

#include <cstddef>
#include <span>

#include "base/clock.hpp"

namespace weft::bootstrap::contact {

/// For poll(): milliseconds until the deadline, at most a second.
[[nodiscard]] int limit_of(const base::Deadline& deadline);
/// Return false when the connection has ended, or the deadline has passed.
[[nodiscard]] bool send_all(int socket, std::span<const std::byte> bytes, const base::Deadline& deadline);
[[nodiscard]] bool receive_all(int socket, std::span<std::byte> bytes, const base::Deadline& deadline);

}  // namespace weft::bootstrap::contact
