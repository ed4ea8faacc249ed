// What the generated entry points share: the arguments of the program as objects, checked.
#pragma once

#include "bindings/mpi/check/handles.hpp"
#include "bindings/mpi/communicators/report.hpp"
#include "bindings/mpi/datatypes/datatype.hpp"
#include "bindings/mpi/groups/group.hpp"
#include "bindings/mpi/info/info.hpp"
#include "bindings/mpi/objects/current_call.hpp"
#include "bindings/mpi/objects/numbers.hpp"
#include "bindings/mpi/operations/operation.hpp"

namespace weft::mpi {

/// Fails before MPI_Init and after MPI_Finalize.
void need_library();

[[noreturn]] [[gnu::cold]] void refuse_handle(int code, const char* argument, const char* kind);
[[noreturn]] [[gnu::cold]] void refuse_count(const char* argument, MPI_Count count);
[[noreturn]] [[gnu::cold]] void refuse_communicator(const char* argument, MPI_Comm comm);

[[noreturn]] [[gnu::cold]] void refuse_place(const void* place, const char* argument);
[[noreturn]] [[gnu::cold]] void refuse_no_text(const char* argument);
[[noreturn]] [[gnu::cold]] void refuse_no_status();
[[noreturn]] [[gnu::cold]] void refuse_null_function(const char* argument);
[[noreturn]] [[gnu::cold]] void refuse_null_array(const char* argument, MPI_Count count);

/// Fails where there is no place for a result: a null pointer, or a predefined handle in place of the address
/// of one.
inline void need_result(const void* place, const char* argument) {
  if (reinterpret_cast<std::uintptr_t>(place) < kPredefinedHandles) [[unlikely]]
    refuse_place(place, argument);
}
/// Fails where a text that is read is none.
inline void need_text(const char* text, const char* argument) {
  if (text == nullptr) [[unlikely]]
    refuse_no_text(argument);
}
/// Fails where a status that is read is none.
inline void need_status(const MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) [[unlikely]]
    refuse_no_status();
}
/// Fails where a function of the program is not there, which would be called later.
inline void need_function(bool is_there, const char* argument) {
  if (!is_there) [[unlikely]]
    refuse_null_function(argument);
}
/// Fails where there is no array, and there are elements.
inline void need_array(const void* array, MPI_Count count, const char* argument) {
  if (array == nullptr && count > 0) [[unlikely]]
    refuse_null_array(argument, count);
}
inline Communicator& communicator_of(MPI_Comm comm, const char* argument) {
  auto* const found = find<Communicator>(comm);
  if (found == nullptr) [[unlikely]]
    refuse_communicator(argument, comm);
  return *found;
}
inline Datatype& datatype_of(MPI_Datatype datatype, const char* argument) {
  auto* const found = find<Datatype>(datatype);
  if (found == nullptr) [[unlikely]]
    refuse_handle(MPI_ERR_TYPE, argument, "datatype");
  return *found;
}
/// Any datatype for MPI_DATATYPE_NULL where there are no elements.
inline Datatype& datatype_for(MPI_Datatype datatype, MPI_Count count, const char* argument) {
  auto* const found = find<Datatype>(datatype);
  if (found == nullptr) [[unlikely]]
    return count == 0 ? byte_type : datatype_of(datatype, argument);
  return *found;
}
/// no_type for MPI_DATATYPE_NULL, or a null pointer.
inline Datatype& datatype_if_any(MPI_Datatype datatype) {
  return datatype == MPI_DATATYPE_NULL || datatype == nullptr ? no_type : datatype_of(datatype, "datatype");
}
/// no_type also where the argument does not count on this rank: it may be anything then.
inline Datatype& datatype_if(bool counts, MPI_Datatype datatype) {
  return counts ? datatype_if_any(datatype) : no_type;
}
inline Reduction& operation_of(MPI_Op op, const char* argument) {
  auto* const found = find<Reduction>(op);
  if (found == nullptr) [[unlikely]]
    refuse_handle(MPI_ERR_OP, argument, "operation");
  return *found;
}
inline Group& group_of(MPI_Group group, const char* argument) {
  auto* const found = find<Group>(group);
  if (found == nullptr) [[unlikely]]
    refuse_handle(MPI_ERR_GROUP, argument, "group");
  return *found;
}
inline Session& session_of(MPI_Session session, const char* argument) {
  auto* const found = find<Session>(session);
  if (found == nullptr) [[unlikely]]
    refuse_handle(MPI_ERR_SESSION, argument, "session");
  return *found;
}
/// nullptr for MPI_INFO_NULL.
inline Info* info_of(MPI_Info info, const char* argument) {
  auto* const found = find<Info>(info);
  if (found == nullptr && info != MPI_INFO_NULL) [[unlikely]]
    refuse_handle(MPI_ERR_INFO, argument, "info object");
  return found;
}
inline MPI_Count count_of(MPI_Count count, const char* argument) {
  if (count < 0) [[unlikely]]
    refuse_count(argument, count);
  return count;
}

}  // namespace weft::mpi
