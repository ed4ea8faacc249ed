// The calls of the group "environment".
#pragma once

#include "bindings/mpi/communicators/communicator.hpp"
#include "bindings/mpi/info/info.hpp"

namespace weft::mpi {

void init(int* argc, char*** argv);
void init_thread(int* argc, char*** argv, int required, int* provided);
void initialized(int* flag);
void finalize();
void finalized(int* flag);
void query_thread(int* provided);
void is_thread_main(int* flag);
void abort(Communicator& communicator, int code);
void pcontrol(int level);

void abi_get_version(int* major, int* minor);
void abi_get_info(MPI_Info* info);
void abi_get_fortran_info(MPI_Info* info);
void abi_set_fortran_info(Info* info);
void abi_get_fortran_booleans(int size, void* true_value, void* false_value, int* is_set);
void abi_set_fortran_booleans(int size, void* true_value, void* false_value);
void get_version(int* version, int* subversion);
void get_library_version(char* version, int* length);
void get_processor_name(char* name, int* length);
void get_hw_resource_info(MPI_Info* info);

void alloc_mem(MPI_Aint size, Info* info, void* base);
void free_mem(void* base);
void get_address(const void* location, MPI_Aint* address);
[[nodiscard]] MPI_Aint aint_add(MPI_Aint base, MPI_Aint displacement) noexcept;
[[nodiscard]] MPI_Aint aint_diff(MPI_Aint one, MPI_Aint other) noexcept;
[[nodiscard]] double wtime() noexcept;
[[nodiscard]] double wtick() noexcept;

}  // namespace weft::mpi
