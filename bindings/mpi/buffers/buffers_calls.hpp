// The calls of the group "buffers".
#pragma once

#include "bindings/mpi/communicators/communicator.hpp"
#include "bindings/mpi/objects/numbers.hpp"

namespace weft::mpi {

void buffer_attach(void* buffer, MPI_Count size);
void buffer_detach(void* buffer, CountResult size);
void buffer_flush();
void buffer_iflush(MPI_Request* request);
void comm_attach_buffer(Communicator& communicator, void* buffer, MPI_Count size);
void comm_detach_buffer(Communicator& communicator, void* buffer, CountResult size);
void comm_flush_buffer(Communicator& communicator);
void comm_iflush_buffer(Communicator& communicator, MPI_Request* request);
void session_attach_buffer(Session& session, void* buffer, MPI_Count size);
void session_detach_buffer(Session& session, void* buffer, CountResult size);
void session_flush_buffer(Session& session);
void session_iflush_buffer(Session& session, MPI_Request* request);

}  // namespace weft::mpi
