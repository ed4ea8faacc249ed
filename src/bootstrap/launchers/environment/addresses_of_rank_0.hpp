// Where rank 0 of a job of variables is to be found.
#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "bootstrap/launchers/environment/environment.hpp"
#include "sockets/addresses.hpp"

namespace weft::bootstrap::contact {

/// Where rank 0 listens: at the chosen addresses, and where the others have been told to come (MASTER_ADDR),
/// as far as that is here; empty: everywhere. Throws weft::Error.
[[nodiscard]] std::vector<sockets::Address> addresses_of(const EnvironmentJob& job);
/// Connects to rank 0, which may not listen yet. Returns an empty descriptor at the deadline, and why.
[[nodiscard]] base::Descriptor reach(const EnvironmentJob& job, const base::Deadline& deadline,
                                     std::string& why);

}  // namespace weft::bootstrap::contact
