// The calls of the group "sessions".
#pragma once

#include "bindings/mpi/communicators/communicator.hpp"

namespace weft::mpi {

void session_init(Info* info, MPI_Errhandler errhandler, MPI_Session* made);
void session_finalize(MPI_Session* session);
void session_get_info(Session& session, MPI_Info* info);
void session_get_num_psets(Session& session, Info* info, int* count);
void session_get_nth_pset(Session& session, Info* info, int index, int* length, char* name);
void session_get_pset_info(Session& session, const char* name, MPI_Info* info);
void group_from_session_pset(Session& session, const char* name, MPI_Group* made);

void comm_create_from_group(Group& group, const char* tag, Info* info, MPI_Errhandler errhandler,
                            MPI_Comm* made);
/// The remote group counts on the local leader only.
void intercomm_create_from_groups(Group& local, int local_leader, MPI_Group remote, int remote_leader,
                                  const char* tag, Info* info, MPI_Errhandler errhandler, MPI_Comm* made);

}  // namespace weft::mpi
