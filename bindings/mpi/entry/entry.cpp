#include "bindings/mpi/entry/entry.hpp"

#include "bindings/mpi/transport/world.hpp"

namespace weft::mpi {

void refuse_handle(int code, const char* argument, const char* kind) {
  fail(code, "argument '%s' is a null handle, or no %s", argument, kind);
}

void need_library() {
  if (world == nullptr) fail_uninitialised();
}

void refuse_count(const char* argument, MPI_Count count) {
  fail(MPI_ERR_COUNT, "argument '%s' is %lld; 0 or more is needed", argument, static_cast<long long>(count));
}

void refuse_place(const void* place, const char* argument) {
  const char* const what = place == nullptr ? "null pointer" : "predefined handle";
  throw Failure{
      MPI_ERR_ARG,
      "argument '" + std::string(argument) + "' is a " + what + "; a place for the result is needed", nullptr,
      true};
}

void refuse_no_text(const char* argument) {
  fail(MPI_ERR_ARG, "argument '%s' is a null pointer; a text is needed", argument);
}

void refuse_no_status() {
  fail(MPI_ERR_ARG, "argument 'status' is MPI_STATUS_IGNORE, or a null pointer; a status is needed");
}

void refuse_null_function(const char* argument) {
  fail(MPI_ERR_ARG, "argument '%s' is a null pointer; a function is needed", argument);
}

void refuse_null_array(const char* argument, MPI_Count count) {
  fail(MPI_ERR_ARG, "argument '%s' is a null pointer; an array of %lld is needed", argument,
       static_cast<long long>(count));
}

void refuse_communicator(const char* argument, MPI_Comm comm) {
  if (world == nullptr) fail_uninitialised();
  if (comm == MPI_COMM_NULL) fail(MPI_ERR_COMM, "argument '%s' is MPI_COMM_NULL", argument);
  fail(MPI_ERR_COMM, "argument '%s' is no communicator, or one that has been freed", argument);
}

}  // namespace weft::mpi
