// Handles that the program has been given, and has to free again.
#pragma once

#include "bindings/mpi/check/finding.hpp"

#include <mpi.h>

namespace weft::mpi {

enum class HandleClass { communicator, datatype, group, operation, info, errhandler, window };

void note_handle(const void* handle, HandleClass kind);
void forget_handle(const void* handle) noexcept;

/// The datatypes that MPI_Type_get_contents has given for one.
void note_handles_of_contents(MPI_Datatype datatype, const MPI_Datatype* contents);

/// Info objects and error handlers may be freed behind MPI_Finalize as well: they are left when the process
/// ends.
enum class LeftAt { finalize, exit };

/// One line for each class of which the program has to have freed all by then and has not, with the call that
/// made the first; nothing where there is none.
[[nodiscard]] std::string leaked_handles(LeftAt when);

// What entry points call: for handles that a call has made, and for those that it frees.
inline void note_made(MPI_Comm handle) {
  if (is_checked) [[unlikely]]
    note_handle(handle, HandleClass::communicator);
}
inline void note_made(MPI_Datatype handle) {
  if (is_checked) [[unlikely]]
    note_handle(handle, HandleClass::datatype);
}
inline void note_made(MPI_Group handle) {
  if (is_checked) [[unlikely]]
    note_handle(handle, HandleClass::group);
}
inline void note_made(MPI_Op handle) {
  if (is_checked) [[unlikely]]
    note_handle(handle, HandleClass::operation);
}
inline void note_made(MPI_Info handle) {
  if (is_checked) [[unlikely]]
    note_handle(handle, HandleClass::info);
}
inline void note_made(MPI_Errhandler handle) {
  if (is_checked) [[unlikely]]
    note_handle(handle, HandleClass::errhandler);
}
inline void note_made(MPI_Win handle) {
  if (is_checked) [[unlikely]]
    note_handle(handle, HandleClass::window);
}
inline void note_contents(MPI_Datatype datatype, const MPI_Datatype* contents) {
  if (is_checked) [[unlikely]]
    note_handles_of_contents(datatype, contents);
}
inline void note_freed(const void* handle) noexcept {
  if (is_checked) [[unlikely]]
    forget_handle(handle);
}

}  // namespace weft::mpi
