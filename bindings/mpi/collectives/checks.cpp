#include "bindings/mpi/collectives/checks.hpp"

namespace weft::mpi {

void check_root(const Communicator& communicator, int root) {
  const int most = communicator.peers().size() - 1;
  if (root >= 0 && root <= most) return;
  if (communicator.is_inter() && (root == MPI_ROOT || root == MPI_PROC_NULL)) return;
  fail(MPI_ERR_ROOT, "root %d; a rank from 0 to %d%s is needed", root, most,
       communicator.is_inter() ? ", MPI_ROOT or MPI_PROC_NULL" : "");
}

void check_committed(const Datatype& type) {
  if (!type.is_committed)
    fail(MPI_ERR_TYPE, "the datatype%s%s has not been committed (MPI_Type_commit)",
         type.name.empty() ? "" : " ", type.name.c_str());
}

void check_intra(const Communicator& communicator) {
  if (communicator.is_inter()) fail(MPI_ERR_COMM, "an intercommunicator does not have this collective");
}

}  // namespace weft::mpi
