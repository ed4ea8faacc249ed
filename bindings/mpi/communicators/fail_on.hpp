// Failures of which the error handler of a communicator learns that is not the call's own.
#pragma once

#include "bindings/mpi/communicators/communicator.hpp"
#include "bindings/mpi/errors/failure.hpp"

#include <memory>

namespace weft::mpi {

/// Retains it: a request may have had the last reference to a communicator that the program has freed. May be
/// null.
[[nodiscard]] std::shared_ptr<Communicator> keep(Communicator* communicator);

/// Fails on this communicator, which lasts until its handler has been told.
[[noreturn]] [[gnu::format(printf, 3, 4), gnu::cold]] void fail_on(Communicator* communicator, int code,
                                                                   const char* format, ...);

}  // namespace weft::mpi
