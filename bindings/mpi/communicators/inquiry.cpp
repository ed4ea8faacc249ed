// What a communicator is: ranks, groups, names, info; and its end.
#include "bindings/mpi/communicators/communicators_calls.hpp"
#include "bindings/mpi/communicators/known.hpp"

#include <cstdio>
#include <cstring>

namespace weft::mpi {

namespace {

void check_inter(const Communicator& communicator) {
  if (!communicator.is_inter()) fail(MPI_ERR_COMM, "the communicator is no intercommunicator");
}

}  // namespace

void comm_rank(Communicator& communicator, int* rank) { *rank = communicator.rank; }
void comm_size(Communicator& communicator, int* size) { *size = communicator.size; }
void comm_remote_size(Communicator& communicator, int* size) {
  check_inter(communicator);
  *size = communicator.remote->size();
}
void comm_test_inter(Communicator& communicator, int* flag) { *flag = communicator.is_inter() ? 1 : 0; }
void comm_group(Communicator& communicator, MPI_Group* group) {
  *group = handle_of<MPI_Group>(retain(communicator.local));
}
void comm_remote_group(Communicator& communicator, MPI_Group* group) {
  check_inter(communicator);
  *group = handle_of<MPI_Group>(retain(communicator.remote));
}

void comm_compare(Communicator& one, Communicator& other, int* result) {
  *result = MPI_UNEQUAL;
  if (&one == &other) {
    *result = MPI_IDENT;
  } else if (one.is_inter() == other.is_inter()) {
    const auto compare = [](const Group& left, const Group& right) {
      if (left.ranks == right.ranks) return MPI_CONGRUENT;
      if (left.size() != right.size()) return MPI_UNEQUAL;
      for (const int rank : left.ranks)
        if (right.rank_of(rank) == MPI_UNDEFINED) return MPI_UNEQUAL;
      return MPI_SIMILAR;
    };
    *result = compare(*one.local, *other.local);
    if (one.is_inter()) {
      const int remote = compare(*one.remote, *other.remote);
      *result = remote > *result ? remote : *result;
    }
  }
}

void comm_set_name(Communicator& communicator, const char* name) {
  const std::lock_guard lock(communicators_mutex());
  communicator.name.assign(name, strnlen(name, MPI_MAX_OBJECT_NAME - 1));
}
void comm_get_name(MPI_Comm comm, char* name, int* length) {
  const auto* const communicator = find<Communicator>(comm);
  if (communicator == nullptr && comm != MPI_COMM_NULL)
    fail(MPI_ERR_COMM, "the communicator has been freed, or is none");
  *length = std::snprintf(name, MPI_MAX_OBJECT_NAME, "%s",
                          communicator != nullptr ? communicator->name.c_str() : "MPI_COMM_NULL");
}

void comm_set_info(Communicator& communicator, Info* info) {
  Info* const copy = copy_of(info);
  release(communicator.info);
  communicator.info = copy;
}
void comm_get_info(Communicator& communicator, MPI_Info* info) {
  *info = handle_of<MPI_Info>(hints_in(communicator.info));
}

void comm_free(MPI_Comm* handle) {
  auto* const communicator = find<Communicator>(*handle);
  if (communicator == nullptr)
    fail(MPI_ERR_COMM, "the communicator is MPI_COMM_NULL, or has been freed already");
  if (communicator->predefined != 0)
    fail(MPI_ERR_COMM, "%s is predefined and cannot be freed", communicator->name.c_str());
  communicator->attributes.clear(*handle);
  release(communicator);
  *handle = MPI_COMM_NULL;
}

}  // namespace weft::mpi
