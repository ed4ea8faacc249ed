// The calls of the group "partitioned".
#pragma once

#include "bindings/mpi/communicators/communicator.hpp"
#include "bindings/mpi/datatypes/datatype.hpp"

namespace weft::mpi {

void psend_init(const void* buffer, int partitions, MPI_Count count, Datatype& type, int dest, int tag,
                Communicator& communicator, Info* info, MPI_Request* request);
void precv_init(void* buffer, int partitions, MPI_Count count, Datatype& type, int source, int tag,
                Communicator& communicator, Info* info, MPI_Request* request);
inline void psend_init_c(const void* buffer, int partitions, MPI_Count count, Datatype& type, int dest,
                         int tag, Communicator& communicator, Info* info, MPI_Request* request) {
  psend_init(buffer, partitions, count, type, dest, tag, communicator, info, request);
}
inline void precv_init_c(void* buffer, int partitions, MPI_Count count, Datatype& type, int source, int tag,
                         Communicator& communicator, Info* info, MPI_Request* request) {
  precv_init(buffer, partitions, count, type, source, tag, communicator, info, request);
}
void pready(int partition, MPI_Request request);
void pready_range(int first, int last, MPI_Request request);
void pready_list(int length, const int* partitions, MPI_Request request);
void parrived(MPI_Request request, int partition, int* flag);

}  // namespace weft::mpi
