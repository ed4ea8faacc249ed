// The calls of the group "point_to_point".
#pragma once

#include "bindings/mpi/communicators/communicator.hpp"
#include "bindings/mpi/datatypes/datatype.hpp"

namespace weft::mpi {

void send(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag, Communicator& communicator);
void bsend(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
           Communicator& communicator);
void ssend(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
           Communicator& communicator);
void rsend(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
           Communicator& communicator);
void isend(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag, Communicator& communicator,
           MPI_Request* request);
void ibsend(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
            Communicator& communicator, MPI_Request* request);
void issend(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
            Communicator& communicator, MPI_Request* request);
void irsend(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
            Communicator& communicator, MPI_Request* request);
void send_init(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
               Communicator& communicator, MPI_Request* request);
void bsend_init(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
                Communicator& communicator, MPI_Request* request);
void ssend_init(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
                Communicator& communicator, MPI_Request* request);
void rsend_init(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
                Communicator& communicator, MPI_Request* request);

void recv(void* buffer, MPI_Count count, Datatype& type, int source, int tag, Communicator& communicator,
          MPI_Status* status);
void irecv(void* buffer, MPI_Count count, Datatype& type, int source, int tag, Communicator& communicator,
           MPI_Request* request);
void recv_init(void* buffer, MPI_Count count, Datatype& type, int source, int tag, Communicator& communicator,
               MPI_Request* request);

void sendrecv(const void* sent, MPI_Count sent_count, Datatype& sent_type, int dest, int sent_tag,
              void* received, MPI_Count received_count, Datatype& received_type, int source, int received_tag,
              Communicator& communicator, MPI_Status* status);
void sendrecv_replace(void* buffer, MPI_Count count, Datatype& type, int dest, int sent_tag, int source,
                      int received_tag, Communicator& communicator, MPI_Status* status);
void isendrecv(const void* sent, MPI_Count sent_count, Datatype& sent_type, int dest, int sent_tag,
               void* received, MPI_Count received_count, Datatype& received_type, int source,
               int received_tag, Communicator& communicator, MPI_Request* request);
void isendrecv_replace(void* buffer, MPI_Count count, Datatype& type, int dest, int sent_tag, int source,
                       int received_tag, Communicator& communicator, MPI_Request* request);

void probe(int source, int tag, Communicator& communicator, MPI_Status* status);
void iprobe(int source, int tag, Communicator& communicator, int* flag, MPI_Status* status);
void mprobe(int source, int tag, Communicator& communicator, MPI_Message* message, MPI_Status* status);
void improbe(int source, int tag, Communicator& communicator, int* flag, MPI_Message* message,
             MPI_Status* status);
void mrecv(void* buffer, MPI_Count count, Datatype& type, MPI_Message* message, MPI_Status* status);
void imrecv(void* buffer, MPI_Count count, Datatype& type, MPI_Message* message, MPI_Request* request);

}  // namespace weft::mpi
