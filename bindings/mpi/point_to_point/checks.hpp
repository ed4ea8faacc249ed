// Arguments of sends and receives, checked.
#pragma once

#include "bindings/mpi/communicators/communicator.hpp"
#include "bindings/mpi/datatypes/datatype.hpp"

namespace weft::mpi {

[[noreturn]] void refuse_rank(const Communicator& communicator, const char* what, int rank);
[[noreturn]] void refuse_tag(int tag);
[[noreturn]] void refuse_type(const Datatype& type);
[[noreturn]] void refuse_buffer(const void* buffer, MPI_Count count, const Datatype& type);

inline void check_data(const void* buffer, MPI_Count count, const Datatype& type) {
  if (!type.is_committed) [[unlikely]]
    refuse_type(type);
  if (reinterpret_cast<std::uintptr_t>(buffer) <= 2 && type.true_lb == 0 && type.size * count > 0)
      [[unlikely]]
    refuse_buffer(buffer, count, type);
}
inline void check_send(const void* buffer, MPI_Count count, const Datatype& type, int dest, int tag,
                       const Communicator& communicator) {
  if (static_cast<unsigned>(dest) >= static_cast<unsigned>(communicator.peers().size()) &&
      dest != MPI_PROC_NULL) [[unlikely]]
    refuse_rank(communicator, "destination", dest);
  if (tag < 0) [[unlikely]]
    refuse_tag(tag);
  check_data(buffer, count, type);
}
inline void check_source(int source, int tag, const Communicator& communicator) {
  if (static_cast<unsigned>(source) >= static_cast<unsigned>(communicator.peers().size()) &&
      source != MPI_PROC_NULL && source != MPI_ANY_SOURCE) [[unlikely]]
    refuse_rank(communicator, "source", source);
  if (tag < 0 && tag != MPI_ANY_TAG) [[unlikely]]
    refuse_tag(tag);
}
inline void check_receive(const void* buffer, MPI_Count count, const Datatype& type, int source, int tag,
                          const Communicator& communicator) {
  check_source(source, tag, communicator);
  check_data(buffer, count, type);
}

}  // namespace weft::mpi
