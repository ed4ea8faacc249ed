// PMIx (Open MPI's mpirun, prterun, srun --mpi=pmix), by the library of the system, which is opened when it
// is needed.
#pragma once

#include <memory>
#include <string>

#include "bootstrap/launchers/launcher_exchange.hpp"

namespace weft::bootstrap::contact {

/// Returns why there is no PMIx here; an empty text when there is.
std::string why_no_pmix();
/// Throws weft::Error.
std::unique_ptr<Contact> join_pmix();

}  // namespace weft::bootstrap::contact
