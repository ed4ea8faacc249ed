// PMI-1's wire protocol (Hydra of MPICH, Slurm's plug-in pmi2), spoken over the descriptor in PMI_FD without
// a library: lines of KEY=VALUE pairs.
#pragma once

#include <memory>

#include "bootstrap/launchers/launcher_exchange.hpp"

namespace weft::bootstrap::contact {

/// Joins by PMI_FD, PMI_RANK and PMI_SIZE. Throws weft::Error.
std::unique_ptr<Contact> join_pmi1();

}  // namespace weft::bootstrap::contact
