// What another rank says to who listens at the address of rank 0, and makes of the answers.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/clock.hpp"
#include "bootstrap/launchers/environment/environment.hpp"
#include "bootstrap/launchers/launcher_exchange.hpp"
#include "sockets/key_derivation.hpp"

namespace weft::bootstrap::contact {

[[nodiscard]] inline std::string address_of(const EnvironmentJob& job) {
  return job.host + ":" + std::to_string(job.port);
}

/// What a meeting with who listens at the address of rank 0 has come to.
struct Meeting {
  std::optional<Cards> cards;
  sockets::Key key{};       // of its result
  std::string why;          // there are none
  bool is_final = false;    // rank 0 itself says so
  bool has_talked = false;  // weft listens there
};

/// Greets, brings the own card, and reads the result.
[[nodiscard]] Meeting meet(int socket, const EnvironmentJob& job, std::span<const std::byte> own,
                           const base::Deadline& deadline);
/// Unseals the result of rank 0, which has the time limit too, and tells who is missing. `key`: of the
/// meeting's result.
[[nodiscard]] Meeting read_result(int socket, const EnvironmentJob& job, const sockets::Key& key,
                                  const base::Deadline& patience);

}  // namespace weft::bootstrap::contact
