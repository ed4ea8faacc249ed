// The functions and handles of an MPI library, looked up when the program runs, so that a build needs no MPI
// and one program runs under any of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::parcel::ports::mpi {

/// A handle: a number in MPICH and its relatives, the address of an object in Open MPI. Both fit a word.
using Word = std::uintptr_t;

/// Room for an MPI_Status of any library, which is only handed back to the library.
struct alignas(16) Status {
  std::byte bytes[128];
};

/// Of one process. MPI 4.1 describes the functions, under their names with "MPI_" before.
struct Library {
  std::string name;  ///< "MPICH", "Open MPI"

  int (*Initialized)(int*);
  int (*Finalized)(int*);
  int (*Init_thread)(int*, char***, int, int*);
  int (*Query_thread)(int*);
  int (*Finalize)();
  int (*Comm_dup)(Word, Word*);
  int (*Comm_rank)(Word, int*);
  int (*Comm_size)(Word, int*);
  int (*Comm_get_attr)(Word, int, void*, int*);
  int (*Comm_set_errhandler)(Word, Word);
  int (*Allgather)(const void*, int, Word, void*, int, Word, Word);
  int (*Isend)(const void*, int, Word, int, int, Word, Word*);
  int (*Irecv)(void*, int, Word, int, int, Word, Word*);
  int (*Test)(Word*, int*, void*);
  int (*Wait)(Word*, void*);
  int (*Cancel)(Word*);
  int (*Get_count)(const void*, Word, int*);
  int (*Error_string)(int, char*, int*);

  Word world;
  Word byte;
  Word errors_return;
  void* status_ignore;
  int any_source;
  int tag_ub;  ///< the key of the attribute

  static constexpr int kThreadMultiple = 3;
};

/// The library that the program has already, or else `path`, or else the one of whoever has started the
/// process; initialized with MPI_THREAD_MULTIPLE, and finalized when the process ends if it was initialized
/// here. Throws weft::Error.
[[nodiscard]] const Library& library(std::string_view path);

/// Throws weft::Error with MPI's text for the code, unless it is MPI_SUCCESS.
void check(const Library& library, int code, const char* call);

}  // namespace weft::parcel::ports::mpi
