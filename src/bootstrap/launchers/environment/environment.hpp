// Launchers that only set variables: torchrun's (also set by Kubernetes' indexed jobs and by hand), and a
// plain srun. Rank 0 listens, and the others go there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "bootstrap/launchers/launcher_exchange.hpp"

namespace weft::bootstrap::contact {

struct EnvironmentJob {
  int rank = 0;
  int size = 1;
  std::string host;  // of rank 0: a name or an address
  std::uint16_t port = 0;
  std::string interfaces = "auto";  // attribute interface
  std::string variables;            // the variables, for messages
};

/// The job of RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; nothing when RANK and WORLD_SIZE are not set.
/// Throws weft::Error when one of them is not valid, or is missing for a size above 1.
std::optional<EnvironmentJob> job_of_torchrun();
/// The job step of a plain srun; nothing when this process is not one of several tasks. Throws weft::Error.
std::optional<EnvironmentJob> job_of_srun();
/// The first host of a list like "n[3-5,8],m1".
std::string first_host(const std::string& list);

std::unique_ptr<Contact> join_environment(EnvironmentJob job);

}  // namespace weft::bootstrap::contact
