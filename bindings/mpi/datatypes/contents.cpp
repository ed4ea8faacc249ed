// How a datatype was made.
#include "bindings/mpi/datatypes/datatypes_calls.hpp"
#include "bindings/mpi/errors/failure.hpp"

#include <algorithm>

namespace weft::mpi {

namespace {

/// Types that the call had as arguments; behind them are those that the library made for itself.
MPI_Count types_of_call(const Datatype& type) {
  switch (type.contents.combiner) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
      return 0;
    case MPI_COMBINER_STRUCT:
      return static_cast<MPI_Count>(type.contents.types.size());
    default:
      return 1;
  }
}

void check_room(const char* what, MPI_Count room, std::size_t needed) {
  if (room < static_cast<MPI_Count>(needed))
    fail(MPI_ERR_ARG, "room for %lld %s where there are %zu (MPI_Type_get_envelope)",
         static_cast<long long>(room), what, needed);
}

}  // namespace

void type_get_envelope_c(Datatype& type, MPI_Count* integers, MPI_Count* addresses, MPI_Count* counts,
                         MPI_Count* types, int* combiner) {
  *integers = static_cast<MPI_Count>(type.contents.integers.size());
  *addresses = static_cast<MPI_Count>(type.contents.addresses.size());
  *counts = static_cast<MPI_Count>(type.contents.counts.size());
  *types = types_of_call(type);
  *combiner = type.contents.combiner;
}

void type_get_envelope(Datatype& type, int* integers, int* addresses, int* types, int* combiner) {
  MPI_Count wide[4];
  type_get_envelope_c(type, &wide[0], &wide[1], &wide[2], &wide[3], combiner);
  if (wide[2] != 0)
    fail(MPI_ERR_TYPE, "the datatype was made by a large-count form; MPI_Type_get_envelope_c describes it");
  *integers = static_cast<int>(wide[0]);
  *addresses = static_cast<int>(wide[1]);
  *types = static_cast<int>(wide[3]);
}

void type_get_contents_c(Datatype& type, MPI_Count max_integers, MPI_Count max_addresses,
                         MPI_Count max_counts, MPI_Count max_types, int* integers, MPI_Aint* addresses,
                         MPI_Count* counts, MPI_Datatype* types) {
  const Contents& contents = type.contents;
  if (contents.combiner == MPI_COMBINER_NAMED)
    fail(MPI_ERR_TYPE, "%s is predefined and has no contents", type.name.c_str());
  check_room("integers", max_integers, contents.integers.size());
  check_room("addresses", max_addresses, contents.addresses.size());
  check_room("large counts", max_counts, contents.counts.size());
  const auto count = static_cast<std::size_t>(types_of_call(type));
  check_room("datatypes", max_types, count);
  std::copy(contents.integers.begin(), contents.integers.end(), integers);
  std::copy(contents.addresses.begin(), contents.addresses.end(), addresses);
  std::copy(contents.counts.begin(), contents.counts.end(), counts);
  for (std::size_t index = 0; index < count; ++index)
    types[index] = handle_of<MPI_Datatype>(retain(contents.types[index]));
}

void type_get_contents(Datatype& type, int max_integers, int max_addresses, int max_types, int* integers,
                       MPI_Aint* addresses, MPI_Datatype* types) {
  if (!type.contents.counts.empty())
    fail(MPI_ERR_TYPE, "the datatype was made by a large-count form; MPI_Type_get_contents_c describes it");
  type_get_contents_c(type, max_integers, max_addresses, 0, max_types, integers, addresses, nullptr, types);
}

}  // namespace weft::mpi
