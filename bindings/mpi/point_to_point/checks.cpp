#include "bindings/mpi/point_to_point/checks.hpp"

#include <climits>

namespace weft::mpi {

void refuse_rank(const Communicator& communicator, const char* what, int rank) {
  const bool is_source = what[0] == 's';
  fail(MPI_ERR_RANK, "%s %d; a rank from 0 to %d, %s is needed", what, rank, communicator.peers().size() - 1,
       is_source ? "MPI_ANY_SOURCE or MPI_PROC_NULL" : "or MPI_PROC_NULL");
}
void refuse_tag(int tag) { fail(MPI_ERR_TAG, "tag %d; 0 to %d are possible", tag, INT_MAX); }
void refuse_type(const Datatype& type) {
  fail(MPI_ERR_TYPE, "the datatype%s%s has not been committed (MPI_Type_commit)",
       type.name.empty() ? "" : " ", type.name.c_str());
}
void refuse_buffer(const void* buffer, MPI_Count count, const Datatype& type) {
  fail(MPI_ERR_BUFFER, "the buffer is %s, and %lld bytes are to be moved",
       buffer == nullptr        ? "a null pointer"
       : buffer == MPI_IN_PLACE ? "MPI_IN_PLACE, which messages do not have"
                                : "no address in memory",
       static_cast<long long>(count * type.size));
}

}  // namespace weft::mpi
