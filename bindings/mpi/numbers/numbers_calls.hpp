// The calls of the group "numbers": integers that stand for handles, as Fortran has them. An integer without
// a handle is a null handle.
#pragma once

#include "bindings/mpi/objects/object.hpp"

namespace weft::mpi {

template <class Handle>
[[nodiscard]] Handle handle_or_null(int number, Handle null) {
  void* const handle = handle_of_number(number);
  return handle != nullptr ? static_cast<Handle>(handle) : null;
}

inline MPI_Comm comm_fromint(int number) { return handle_or_null(number, MPI_COMM_NULL); }
inline int comm_toint(MPI_Comm handle) { return number_of_handle(handle); }
inline MPI_Errhandler errhandler_fromint(int number) { return handle_or_null(number, MPI_ERRHANDLER_NULL); }
inline int errhandler_toint(MPI_Errhandler handle) { return number_of_handle(handle); }
inline MPI_File file_fromint(int number) { return handle_or_null(number, MPI_FILE_NULL); }
inline int file_toint(MPI_File handle) { return number_of_handle(handle); }
inline MPI_Group group_fromint(int number) { return handle_or_null(number, MPI_GROUP_NULL); }
inline int group_toint(MPI_Group handle) { return number_of_handle(handle); }
inline MPI_Info info_fromint(int number) { return handle_or_null(number, MPI_INFO_NULL); }
inline int info_toint(MPI_Info handle) { return number_of_handle(handle); }
inline MPI_Message message_fromint(int number) { return handle_or_null(number, MPI_MESSAGE_NULL); }
inline int message_toint(MPI_Message handle) { return number_of_handle(handle); }
inline MPI_Op op_fromint(int number) { return handle_or_null(number, MPI_OP_NULL); }
inline int op_toint(MPI_Op handle) { return number_of_handle(handle); }
inline MPI_Request request_fromint(int number) { return handle_or_null(number, MPI_REQUEST_NULL); }
inline int request_toint(MPI_Request handle) { return number_of_handle(handle); }
inline MPI_Session session_fromint(int number) { return handle_or_null(number, MPI_SESSION_NULL); }
inline int session_toint(MPI_Session handle) { return number_of_handle(handle); }
inline MPI_Datatype type_fromint(int number) { return handle_or_null(number, MPI_DATATYPE_NULL); }
inline int type_toint(MPI_Datatype handle) { return number_of_handle(handle); }
inline MPI_Win win_fromint(int number) { return handle_or_null(number, MPI_WIN_NULL); }
inline int win_toint(MPI_Win handle) { return number_of_handle(handle); }

}  // namespace weft::mpi
