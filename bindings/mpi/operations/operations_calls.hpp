// The calls of the group "operations".
#pragma once

#include "bindings/mpi/operations/operation.hpp"

namespace weft::mpi {

void op_create(MPI_User_function* function, int commute, MPI_Op* op);
void op_create_c(MPI_User_function_c* function, int commute, MPI_Op* op);
void op_free(MPI_Op* op);
void op_commutative(Reduction& operation, int* commute);
void reduce_local(const void* in, void* inout, MPI_Count count, Datatype& type, Reduction& operation);

}  // namespace weft::mpi
