// The calls of the group "requests".
#pragma once

#include "bindings/mpi/datatypes/datatype.hpp"
#include "bindings/mpi/objects/numbers.hpp"

namespace weft::mpi {

void wait(MPI_Request* request, MPI_Status* status);
void test(MPI_Request* request, int* flag, MPI_Status* status);
void waitall(int count, MPI_Request* requests, MPI_Status* statuses);
void testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses);
void waitany(int count, MPI_Request* requests, int* index, MPI_Status* status);
void testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status);
void waitsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses);
void testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses);
void request_get_status(MPI_Request request, int* flag, MPI_Status* status);
void request_get_status_all(int count, const MPI_Request* requests, int* flag, MPI_Status* statuses);
void request_get_status_any(int count, const MPI_Request* requests, int* index, int* flag,
                            MPI_Status* status);
void request_get_status_some(int count, const MPI_Request* requests, int* done, int* indices,
                             MPI_Status* statuses);
void request_free(MPI_Request* request);
void cancel(MPI_Request* request);
void start(MPI_Request* request);
void startall(int count, MPI_Request* requests);
void test_cancelled(const MPI_Status* status, int* flag);
void get_count(const MPI_Status* status, Datatype& type, CountResult count);
void get_elements(const MPI_Status* status, Datatype& type, CountResult count);
void get_elements_x(const MPI_Status* status, Datatype& type, MPI_Count* count);
void status_get_error(const MPI_Status* status, int* error);
void status_get_source(const MPI_Status* status, int* source);
void status_get_tag(const MPI_Status* status, int* tag);
void status_set_cancelled(MPI_Status* status, int flag);
void status_set_elements(MPI_Status* status, Datatype& type, MPI_Count count);
void status_set_elements_x(MPI_Status* status, Datatype& type, MPI_Count count);
void status_set_error(MPI_Status* status, int error);
void status_set_source(MPI_Status* status, int source);
void status_set_tag(MPI_Status* status, int tag);
void grequest_start(MPI_Grequest_query_function* query, MPI_Grequest_free_function* free,
                    MPI_Grequest_cancel_function* cancel, void* extra, MPI_Request* request);
void grequest_complete(MPI_Request request);

}  // namespace weft::mpi
