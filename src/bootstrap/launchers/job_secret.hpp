// What the ranks of a job know of each other before they have talked: the secret that a user has given all of
// them, if any, and half a secret of each rank's own, of which the others are sent the other half.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sockets/key_derivation.hpp"

namespace weft::bootstrap::contact {

/// Made of WEFT_JOB_SECRET; nothing when it is not set.
[[nodiscard]] std::optional<sockets::Key> configured_secret();

/// Two processes' own: from the half of the one and the sent half of the other, and WEFT_JOB_SECRET, which
/// both must have set to the same or not at all. Nothing when the sent half is none.
[[nodiscard]] std::optional<sockets::Key> secret_between(const sockets::KeyPair& own,
                                                         const sockets::PublicKey& other);

/// The secret between rank 0 and the rank that serves another host. Throws weft::Error.
[[nodiscard]] sockets::Key secret_of_host(const sockets::KeyPair& own, const sockets::PublicKey& other,
                                          std::string_view job_id);

}  // namespace weft::bootstrap::contact
