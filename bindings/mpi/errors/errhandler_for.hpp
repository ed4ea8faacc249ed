// Error handlers as arguments.
#pragma once

#include "bindings/mpi/errors/failure.hpp"

namespace weft::mpi {

/// The error handler of a handle, for an object of this kind; fails where it is none, or of another kind.
[[nodiscard]] inline Errhandler& errhandler_for(MPI_Errhandler handle, Errhandler::Of of) {
  auto* const handler = find<Errhandler>(handle);
  if (handler == nullptr) fail(MPI_ERR_ERRHANDLER, "the error handler is MPI_ERRHANDLER_NULL or none");
  if (handler->of != Errhandler::Of::any && handler->of != of)
    fail(MPI_ERR_ERRHANDLER, "the error handler was made for another kind of object");
  return *handler;
}

}  // namespace weft::mpi
