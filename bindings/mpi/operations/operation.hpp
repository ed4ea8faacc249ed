// Operations of reductions: MPI's own, and functions of the program.
#pragma once

#include "bindings/mpi/datatypes/datatype.hpp"
#include "bindings/mpi/objects/object.hpp"

#include <cstdint>

namespace weft::mpi {

struct Reduction : Object {
  static constexpr Kind kKind = Kind::operation;
  explicit Reduction(bool commutes) noexcept : Object(kKind), is_commutative(commutes) {}

  /// inout[i] = in[i] operation inout[i]: `in` are values of lower ranks.
  void apply(const void* in, void* inout, MPI_Count count, Datatype& type) const;

  bool is_commutative;
  const char* name = "an operation of the program";
  int predefined_op = 0;  // the ABI's number of one of MPI's own
  std::uint64_t identity =
      0;  // of a function of the program itself: the same in ranks that run the same program
  MPI_User_function* function = nullptr;
  MPI_User_function_c* large_function = nullptr;
};

/// Fails when the operation does not exist for the datatype.
void check_operation(const Reduction& operation, const Datatype& type);

}  // namespace weft::mpi
