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

}  // namespace weft::mpi
