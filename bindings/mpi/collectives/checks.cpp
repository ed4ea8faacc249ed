#include "bindings/mpi/collectives/checks.hpp"

namespace weft::mpi {

void check_root(const Communicator& communicator, int root) {
  const int most = communicator.peers().size() - 1;
  if (root >= 0 && root <= most) return;
  if (communicator.is_inter() && (root == MPI_ROOT || root == MPI_PROC_NULL)) return;
  fail(MPI_ERR_ROOT, "root %d; a rank from 0 to %d%s is needed", root, most,
       communicator.is_inter() ? ", MPI_ROOT or MPI_PROC_NULL" : "");
}

void check_count(const char* argument, MPI_Count count) {
  if (count < 0) [[unlikely]]
    fail(MPI_ERR_COUNT, "argument '%s' is %lld; 0 or more is needed", argument,
         static_cast<long long>(count));
}

void check_elements(const char* argument, MPI_Count count, const Datatype& type) {
  check_count(argument, count);
  if (type.is_committed || count == 0) [[likely]]
    return;
  if (&type == &no_type)
    fail(MPI_ERR_TYPE, "argument 'datatype' is a null handle, or no datatype: the datatype of '%s'",
         argument);
  fail(MPI_ERR_TYPE, "the datatype%s%s has not been committed (MPI_Type_commit)",
       type.name.empty() ? "" : " ", type.name.c_str());
}

void check_blocks(const char* argument, Numbers counts, int ranks, const Datatype& type) {
  if (counts.is_null() && ranks > 0) fail(MPI_ERR_ARG, "argument '%s' is a null pointer", argument);
  for (int rank = 0; rank < ranks; ++rank) check_elements(argument, counts[rank], type);
}

void check_reduction(const void* sent, const void* received, MPI_Count count, const Datatype& type,
                     const Reduction& operation) {
  if (sent == received && sent != nullptr && count > 0)
    fail(MPI_ERR_BUFFER, "the result would go where the values are taken from; MPI_IN_PLACE says that");
  check_elements("count", count, type);
  check_operation(operation, type);
}

void check_intra(const Communicator& communicator) {
  if (communicator.is_inter()) fail(MPI_ERR_COMM, "an intercommunicator does not have this collective");
}

}  // namespace weft::mpi
