// Connecting to a listener of the job, for programs that may wait.
#pragma once

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "sockets/addresses.hpp"
#include "sockets/greeting.hpp"
#include "sockets/sealed_stream.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace weft::sockets {

/// Who connects, and to what.
struct Caller {
  std::string job_id;
  Secret secret;
  std::uint32_t from = 0;      // rank, or number of the host
  std::uint32_t to = 0;        // likewise, of the listener
  std::uint8_t inbox = 0;      // of the listener
  double peer_timeout = 20.0;  // seconds; see set_options()
  Protection protection = Protection::encrypted;
  Purpose purpose = Purpose::hosts;
};

/// Tries the addresses, the next one after 250 ms each, until a greeting has succeeded; with the listener
/// absent, again and again until the deadline. The socket does not block. Throws weft::Error, which names
/// every address and why it could not be used.
[[nodiscard]] Greeted connect_to(const Endpoints& there, std::span<const Interface> own,
                                 std::uint64_t own_network_namespace, const Caller& caller,
                                 const base::Deadline& deadline);

}  // namespace weft::sockets
