// The calls of the group "attributes".
#pragma once

#include "bindings/mpi/attributes/attributes.hpp"

namespace weft::mpi {

struct Communicator;
struct Datatype;

void comm_create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* drop, int* keyval,
                        void* extra);
void comm_free_keyval(int* keyval);
void comm_set_attr(Communicator& communicator, int keyval, void* value);
void comm_get_attr(Communicator& communicator, int keyval, void* value, int* flag);
void comm_delete_attr(Communicator& communicator, int keyval);
void keyval_create(MPI_Copy_function* copy, MPI_Delete_function* drop, int* keyval, void* extra);
void keyval_free(int* keyval);
void attr_put(Communicator& communicator, int keyval, void* value);
void attr_get(Communicator& communicator, int keyval, void* value, int* flag);
void attr_delete(Communicator& communicator, int keyval);

void type_create_keyval(MPI_Type_copy_attr_function* copy, MPI_Type_delete_attr_function* drop, int* keyval,
                        void* extra);
void type_free_keyval(int* keyval);
void type_set_attr(Datatype& type, int keyval, void* value);
void type_get_attr(Datatype& type, int keyval, void* value, int* flag);
void type_delete_attr(Datatype& type, int keyval);

void win_create_keyval(MPI_Win_copy_attr_function* copy, MPI_Win_delete_attr_function* drop, int* keyval,
                       void* extra);
void win_free_keyval(int* keyval);

}  // namespace weft::mpi
