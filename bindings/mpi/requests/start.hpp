// Posting the message of a request.
#pragma once

#include "bindings/mpi/requests/request.hpp"

namespace weft::mpi {

/// Posts a send, which ends with the request or, if this returns true, has ended: then the request is not
/// signalled, nor its owner told. It can be cancelled where the request says that it has a handle.
[[nodiscard]] bool post_message(Request& request, const void* buffer, MPI_Count count, Datatype& type,
                                int peer, int tag, std::uint32_t context, SendMode mode);
/// Posts a receive, which ends with the request. `can_be_cancelled` costs a few instructions.
void post_buffer(Request& request, void* buffer, MPI_Count count, Datatype& type, int peer, int tag,
                 std::uint32_t context, bool can_be_cancelled);

/// Starts a persistent request that is not active.
void start_persistent(Request& request);

}  // namespace weft::mpi
