// Attributes of communicators, predefined ones among them, and of datatypes.
#include "bindings/mpi/attributes/attributes_calls.hpp"
#include "bindings/mpi/communicators/communicator.hpp"
#include "bindings/mpi/datatypes/datatype.hpp"
#include "bindings/mpi/errors/classes.hpp"

#include <climits>
#include <cstdlib>

namespace weft::mpi {

namespace {

template <class Copy, class Drop>
int new_keyval(KeyvalOf of, Copy* copy, Drop* drop, void* extra) {
  return create_keyval(of, reinterpret_cast<CopyAttribute>(copy), reinterpret_cast<DeleteAttribute>(drop),
                       extra);
}

/// Of the programs of a job, as mpiexec tells it.
int number_of_program() noexcept {
  const char* const text = std::getenv("MPIEXEC_APPNUM");
  return text != nullptr ? std::atoi(text) : 0;
}

/// The attributes that MPI itself attaches to MPI_COMM_WORLD, and, which costs nothing, to all communicators
/// made of it. Those of sessions have the largest tag alone.
void* predefined_attribute(int keyval) {
  static int largest_tag = INT_MAX, io = MPI_ANY_SOURCE, host = MPI_PROC_NULL, is_global = 0, universe = 0,
             number = number_of_program();
  switch (keyval) {
    case MPI_TAG_UB:
      return &largest_tag;
    case MPI_IO:
      return &io;
    case MPI_HOST:
      return &host;
    case MPI_WTIME_IS_GLOBAL:
      return &is_global;
    case MPI_UNIVERSE_SIZE:
      universe = communicator_world->size;
      return &universe;
    case MPI_APPNUM:
      return &number;
    case MPI_LASTUSEDCODE:
      return const_cast<int*>(last_used_code());
    default:
      return nullptr;
  }
}

void refuse_predefined(int keyval) {
  if (predefined_attribute(keyval) != nullptr)
    fail(MPI_ERR_KEYVAL, "key %d is predefined and cannot be changed", keyval);
}

}  // namespace

void comm_create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* drop, int* keyval,
                        void* extra) {
  *keyval = new_keyval(KeyvalOf::communicator, copy, drop, extra);
}
void comm_free_keyval(int* keyval) { free_keyval(KeyvalOf::communicator, keyval); }
void comm_set_attr(Communicator& communicator, int keyval, void* value) {
  refuse_predefined(keyval);
  communicator.attributes.set(handle_of<MPI_Comm>(&communicator), keyval, value);
}
void comm_get_attr(Communicator& communicator, int keyval, void* value, int* flag) {
  auto** const place = static_cast<void**>(value);
  if (void* const predefined = predefined_attribute(keyval); predefined != nullptr) {
    *flag = keyval == MPI_TAG_UB || communicator.local->session == nullptr ? 1 : 0;
    if (*flag != 0) *place = predefined;
    return;
  }
  *flag = communicator.attributes.get(keyval, place) ? 1 : 0;
}
void comm_delete_attr(Communicator& communicator, int keyval) {
  refuse_predefined(keyval);
  communicator.attributes.remove(handle_of<MPI_Comm>(&communicator), keyval);
}
void keyval_create(MPI_Copy_function* copy, MPI_Delete_function* drop, int* keyval, void* extra) {
  comm_create_keyval(copy, drop, keyval, extra);
}
void keyval_free(int* keyval) { comm_free_keyval(keyval); }
void attr_put(Communicator& communicator, int keyval, void* value) {
  comm_set_attr(communicator, keyval, value);
}
void attr_get(Communicator& communicator, int keyval, void* value, int* flag) {
  comm_get_attr(communicator, keyval, value, flag);
}
void attr_delete(Communicator& communicator, int keyval) { comm_delete_attr(communicator, keyval); }

void type_create_keyval(MPI_Type_copy_attr_function* copy, MPI_Type_delete_attr_function* drop, int* keyval,
                        void* extra) {
  *keyval = new_keyval(KeyvalOf::datatype, copy, drop, extra);
}
void type_free_keyval(int* keyval) { free_keyval(KeyvalOf::datatype, keyval); }
void type_set_attr(Datatype& type, int keyval, void* value) {
  type.attributes.set(handle_of<MPI_Datatype>(&type), keyval, value);
}
void type_get_attr(Datatype& type, int keyval, void* value, int* flag) {
  *flag = type.attributes.get(keyval, static_cast<void**>(value)) ? 1 : 0;
}
void type_delete_attr(Datatype& type, int keyval) {
  type.attributes.remove(handle_of<MPI_Datatype>(&type), keyval);
}

void win_create_keyval(MPI_Win_copy_attr_function* copy, MPI_Win_delete_attr_function* drop, int* keyval,
                       void* extra) {
  *keyval = new_keyval(KeyvalOf::window, copy, drop, extra);
}
void win_free_keyval(int* keyval) { free_keyval(KeyvalOf::window, keyval); }

}  // namespace weft::mpi
