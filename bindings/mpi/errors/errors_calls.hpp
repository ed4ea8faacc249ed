// The calls of the group "errors": classes, codes, texts, and error handlers.
#pragma once

#include "bindings/mpi/errors/failure.hpp"

namespace weft::mpi {

struct Session;

void add_error_class(int* error_class);
void add_error_code(int error_class, int* code);
void add_error_string(int code, const char* text);
void remove_error_class(int error_class);
void remove_error_code(int code);
void remove_error_string(int code);
void error_class(int code, int* result);
void error_string(int code, char* text, int* length);

void comm_create_errhandler(MPI_Comm_errhandler_function* function, MPI_Errhandler* handler);
void comm_set_errhandler(Communicator& communicator, MPI_Errhandler handler);
void comm_get_errhandler(Communicator& communicator, MPI_Errhandler* handler);
void comm_call_errhandler(Communicator& communicator, int code);
void win_create_errhandler(MPI_Win_errhandler_function* function, MPI_Errhandler* handler);
void file_create_errhandler(MPI_File_errhandler_function* function, MPI_Errhandler* handler);
void session_create_errhandler(MPI_Session_errhandler_function* function, MPI_Errhandler* handler);
void session_set_errhandler(Session& session, MPI_Errhandler handler);
void session_get_errhandler(Session& session, MPI_Errhandler* handler);
void session_call_errhandler(Session& session, int code);
void errhandler_free(MPI_Errhandler* handler);

}  // namespace weft::mpi
