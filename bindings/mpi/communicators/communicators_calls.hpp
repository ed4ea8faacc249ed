// The calls of the group "communicators".
#pragma once

#include "bindings/mpi/communicators/communicator.hpp"

namespace weft::mpi {

void comm_rank(Communicator& communicator, int* rank);
void comm_size(Communicator& communicator, int* size);
void comm_remote_size(Communicator& communicator, int* size);
void comm_test_inter(Communicator& communicator, int* flag);
void comm_group(Communicator& communicator, MPI_Group* group);
void comm_remote_group(Communicator& communicator, MPI_Group* group);
void comm_compare(Communicator& one, Communicator& other, int* result);
void comm_set_name(Communicator& communicator, const char* name);
/// Of MPI_COMM_NULL, too.
void comm_get_name(MPI_Comm comm, char* name, int* length);
void comm_set_info(Communicator& communicator, Info* info);
void comm_get_info(Communicator& communicator, MPI_Info* info);
void comm_free(MPI_Comm* communicator);

void comm_dup(Communicator& communicator, MPI_Comm* made);
void comm_dup_with_info(Communicator& communicator, Info* info, MPI_Comm* made);
void comm_idup(Communicator& communicator, MPI_Comm* made, MPI_Request* request);
void comm_idup_with_info(Communicator& communicator, Info* info, MPI_Comm* made, MPI_Request* request);
void comm_split(Communicator& communicator, int color, int key, MPI_Comm* made);
void comm_split_type(Communicator& communicator, int split_type, int key, Info* info, MPI_Comm* made);
void comm_create(Communicator& communicator, Group& group, MPI_Comm* made);
void comm_create_group(Communicator& communicator, Group& group, int tag, MPI_Comm* made);
void intercomm_create(Communicator& local, int local_leader, MPI_Comm peer, int remote_leader, int tag,
                      MPI_Comm* made);
void intercomm_merge(Communicator& communicator, int high, MPI_Comm* made);

}  // namespace weft::mpi
