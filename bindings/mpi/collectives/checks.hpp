// Arguments of collectives, checked.
#pragma once

#include "bindings/mpi/collectives/exchange.hpp"
#include "bindings/mpi/objects/numbers.hpp"

namespace weft::mpi {

/// A root: a rank, or on an intercommunicator also MPI_ROOT and MPI_PROC_NULL.
void check_root(const Communicator& communicator, int root);
/// Refuses a count below 0; `argument` is its name. Calls look only at arguments that count on this rank.
void check_count(const char* argument, MPI_Count count);
/// What the arguments are called that say what is sent, and where results go.
struct BufferNames {
  const char *buffer, *count, *counts;
};
inline constexpr BufferNames kSent = {"sendbuf", "sendcount", "sendcounts"};
inline constexpr BufferNames kReceived = {"recvbuf", "recvcount", "recvcounts"};

/// A block for each rank: counts and displacements (in extents) by rank, or equal ones where they are null.
struct Blocks {
  Numbers counts, displacements;
  MPI_Count count = 0;  // of each, where counts is null
  [[nodiscard]] MPI_Count count_of(int rank) const noexcept {
    return counts.is_null() ? count : counts[rank];
  }
  [[nodiscard]] MPI_Count offset_of(int rank) const noexcept {
    return counts.is_null() ? rank * count : displacements[rank];
  }
};

/// Refuses a null pointer in the place of a list of counts; `argument` is its name.
void check_list(const char* argument, const Numbers& list);
/// The same of one of datatypes.
void check_types(const MPI_Datatype* types);
/// Elements that are to be moved: a count, and a datatype that is committed unless there are none.
void check_elements(const char* argument, MPI_Count count, const Datatype& type);
/// Refuses a null pointer, or MPI_IN_PLACE, where there is something to move; `argument` is the buffer's
/// name.
void check_buffer(const char* argument, const void* buffer, MPI_Count count, const Datatype& type);
/// Refuses elements that would be copied to where they lie: MPI_IN_PLACE says that.
void check_apart(const void* sent, const void* received, MPI_Count count);
/// Refuses two buffers that overlap, of elements without gaps: MPI lets none be named twice.
void check_overlap(const void* sent, MPI_Count sent_count, const Datatype& sent_type, const void* received,
                   MPI_Count received_count, const Datatype& received_type);
/// A buffer and the elements in it, and one that has blocks of `ranks`.
void check_block(const BufferNames& names, const void* buffer, MPI_Count count, const Datatype& type);
void check_blocks(const BufferNames& names, const void* buffer, const Blocks& blocks, int ranks,
                  const Datatype& type);
/// Refuses what a rank sends to itself, or gets from itself, if it lies in its own one of all blocks, or, of
/// equal ones, overlaps any.
void check_own_block(const void* buffer, MPI_Count count, const Datatype& type, const void* all,
                     const Blocks& blocks, const Datatype& type_of_blocks, const Communicator& communicator);
/// What is combined.
void check_reduction(MPI_Count count, const Datatype& type, const Reduction& operation);
/// Where values are taken from, and the place of as many results; the values may lie there (MPI_IN_PLACE).
void check_result(const void* sent, const void* received, MPI_Count count, const Datatype& type);
[[nodiscard]] inline bool is_in_place(const void* buffer) noexcept { return buffer == MPI_IN_PLACE; }
/// Refuses collectives that intercommunicators do not have.
void check_intra(const Communicator& communicator);

/// What a rank contributes, which lies in the receive buffer where MPI_IN_PLACE says so.
struct Sent {
  const void* buffer;
  MPI_Count count;
  Type type;
};

}  // namespace weft::mpi
