#include "bindings/mpi/collectives/checks.hpp"

#include <algorithm>
#include <cstdint>

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

void check_buffer(const char* argument, const void* buffer, MPI_Count count, const Datatype& type) {
  if ((buffer != nullptr && !is_in_place(buffer)) || type.true_lb != 0 || count * type.size == 0) [[likely]]
    return;
  fail(MPI_ERR_BUFFER, "argument '%s' is %s, and %lld bytes are to be moved", argument,
       buffer == nullptr ? "a null pointer" : "MPI_IN_PLACE", static_cast<long long>(count * type.size));
}

void check_apart(const void* sent, const void* received, MPI_Count count) {
  if (sent != received || sent == nullptr || count == 0) [[likely]]
    return;
  fail(MPI_ERR_BUFFER, "the result would go where the values are taken from; MPI_IN_PLACE says that");
}

void check_overlap(const void* sent, MPI_Count sent_count, const Datatype& sent_type, const void* received,
                   MPI_Count received_count, const Datatype& received_type) {
  if (!sent_type.is_dense(sent_count) || !received_type.is_dense(received_count)) return;
  const auto one = reinterpret_cast<std::uintptr_t>(shifted(sent, sent_type.true_lb));
  const auto other = reinterpret_cast<std::uintptr_t>(shifted(received, received_type.true_lb));
  const auto one_end = one + static_cast<std::uintptr_t>(sent_count * sent_type.size);
  const auto other_end = other + static_cast<std::uintptr_t>(received_count * received_type.size);
  const std::uintptr_t first = std::max(one, other), end = std::min(one_end, other_end);
  if (first >= end) [[likely]]
    return;
  fail(MPI_ERR_BUFFER, "'sendbuf' and 'recvbuf' overlap by %llu bytes; they must be apart",
       static_cast<unsigned long long>(end - first));
}

void check_list(const char* argument, const Numbers& list) {
  if (list.is_null()) [[unlikely]]
    fail(MPI_ERR_ARG, "argument '%s' is a null pointer; a list of a number for each rank is needed",
         argument);
}

void check_types(const MPI_Datatype* types) {
  if (types == nullptr)
    fail(MPI_ERR_ARG, "a list of datatypes is a null pointer; one of a datatype for each rank is needed");
}

void check_block(const BufferNames& names, const void* buffer, MPI_Count count, const Datatype& type) {
  check_elements(names.count, count, type);
  check_buffer(names.buffer, buffer, count, type);
}

void check_blocks(const BufferNames& names, const void* buffer, const Blocks& blocks, int ranks,
                  const Datatype& type) {
  if (blocks.counts.is_null()) return check_block(names, buffer, blocks.count, type);
  for (int rank = 0; rank < ranks; ++rank) {
    check_elements(names.counts, blocks.counts[rank], type);
    if (blocks.counts[rank] == 0) continue;
    check_list("displs", blocks.displacements);
    if (blocks.offset_of(rank) == 0) check_buffer(names.buffer, buffer, blocks.counts[rank], type);
  }
}

void check_own_block(const void* buffer, MPI_Count count, const Datatype& type, const void* all,
                     const Blocks& blocks, const Datatype& type_of_blocks, const Communicator& communicator) {
  if (count == 0) return;
  if (&type == &type_of_blocks)
    check_apart(buffer, element(all, blocks.offset_of(communicator.rank), type),
                blocks.count_of(communicator.rank));
  if (blocks.counts.is_null())
    check_overlap(buffer, count, type, all, blocks.count * communicator.size, type_of_blocks);
}

void check_reduction(MPI_Count count, const Datatype& type, const Reduction& operation) {
  check_elements("count", count, type);
  check_operation(operation, type);
}

void check_result(const void* sent, const void* received, MPI_Count count, const Datatype& type) {
  check_apart(sent, received, count);
  if (!is_in_place(sent)) {
    check_buffer("sendbuf", sent, count, type);
    check_overlap(sent, count, type, received, count, type);
  }
  check_buffer("recvbuf", received, count, type);
}

void check_intra(const Communicator& communicator) {
  if (communicator.is_inter()) fail(MPI_ERR_COMM, "an intercommunicator does not have this collective");
}

}  // namespace weft::mpi
