// What the library and the machine are, memory, and time.
#include "bindings/mpi/environment/environment_calls.hpp"
#include "bindings/mpi/errors/failure.hpp"

#include <weft/version.hpp>

#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace weft::mpi {

namespace {

/// The values of Fortran's logicals, which a Fortran library tells.
struct Booleans {
  int size;
  bool is_set;
  char true_value[16], false_value[16];
};
Booleans booleans[] = {
    {1, false, {}, {}}, {2, false, {}, {}}, {4, false, {}, {}}, {8, false, {}, {}}, {16, false, {}, {}}};

Booleans& booleans_of(int size) {
  for (Booleans& row : booleans)
    if (row.size == size) return row;
  fail(MPI_ERR_ARG, "a logical of %d bytes; 1, 2, 4, 8 and 16 are possible", size);
}

Info* fortran_info = nullptr;

}  // namespace

void abi_get_version(int* major, int* minor) {
  *major = MPI_ABI_VERSION;
  *minor = MPI_ABI_SUBVERSION;
}
void abi_get_info(MPI_Info* info) {
  auto* const made = new Info;
  const std::pair<const char*, std::size_t> sizes[] = {{"mpi_aint_size", sizeof(MPI_Aint)},
                                                       {"mpi_count_size", sizeof(MPI_Count)},
                                                       {"mpi_offset_size", sizeof(MPI_Offset)}};
  for (const auto& [name, size] : sizes) made->set(name, std::to_string(size));
  *info = handle_of<MPI_Info>(made);
}
void abi_get_fortran_info(MPI_Info* info) {
  *info = fortran_info == nullptr ? MPI_INFO_NULL : handle_of<MPI_Info>(copy_of(fortran_info));
}
void abi_set_fortran_info(Info* info) {
  if (fortran_info != nullptr) fail(MPI_ERR_ABI, "the information on Fortran has been set already");
  fortran_info = copy_of(info);
}
void abi_get_fortran_booleans(int size, void* true_value, void* false_value, int* is_set) {
  const Booleans& row = booleans_of(size);
  *is_set = row.is_set ? 1 : 0;
  if (!row.is_set) return;
  std::memcpy(true_value, row.true_value, static_cast<std::size_t>(size));
  std::memcpy(false_value, row.false_value, static_cast<std::size_t>(size));
}
void abi_set_fortran_booleans(int size, void* true_value, void* false_value) {
  Booleans& row = booleans_of(size);
  if (row.is_set) fail(MPI_ERR_ABI, "the values of logicals of %d bytes have been set already", size);
  std::memcpy(row.true_value, true_value, static_cast<std::size_t>(size));
  std::memcpy(row.false_value, false_value, static_cast<std::size_t>(size));
  row.is_set = true;
}

void get_version(int* version, int* subversion) {
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
}
void get_library_version(char* version, int* length) {
  *length = std::snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "weft-mpi %d.%d.%d, MPI %d.%d, ABI %d.%d",
                          WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH, MPI_VERSION,
                          MPI_SUBVERSION, MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
}
void get_processor_name(char* name, int* length) {
  char host[MPI_MAX_PROCESSOR_NAME] = {};
  ::gethostname(host, sizeof host - 1);
  *length = std::snprintf(name, MPI_MAX_PROCESSOR_NAME, "%s", host);
}
void get_hw_resource_info(MPI_Info* info) { *info = handle_of<MPI_Info>(new Info); }

void alloc_mem(MPI_Aint size, Info*, void* base) {
  if (size < 0) fail(MPI_ERR_ARG, "%lld bytes of memory; 0 or more are needed", static_cast<long long>(size));
  void* memory = nullptr;
  if (::posix_memalign(&memory, 64, static_cast<std::size_t>(size > 0 ? size : 1)) != 0)
    fail(MPI_ERR_NO_MEM, "there are no %lld bytes of memory", static_cast<long long>(size));
  *static_cast<void**>(base) = memory;
}
void free_mem(void* base) { std::free(base); }

void get_address(const void* location, MPI_Aint* address) { *address = reinterpret_cast<MPI_Aint>(location); }
MPI_Aint aint_add(MPI_Aint base, MPI_Aint displacement) noexcept { return base + displacement; }
MPI_Aint aint_diff(MPI_Aint one, MPI_Aint other) noexcept { return one - other; }

double wtime() noexcept {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
double wtick() noexcept {
  timespec resolution;
  ::clock_getres(CLOCK_MONOTONIC, &resolution);
  return static_cast<double>(resolution.tv_sec) + static_cast<double>(resolution.tv_nsec) * 1e-9;
}

}  // namespace weft::mpi
