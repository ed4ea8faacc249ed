#include "bindings/mpi/errors/failure.hpp"

#include <cstdio>
#include <utility>

namespace weft::mpi {

namespace {

std::string formatted(const char* format, va_list arguments) {
  char text[MPI_MAX_ERROR_STRING];
  std::vsnprintf(text, sizeof text, format, arguments);
  return text;
}

}  // namespace

void fail(int code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Failure failure{code, formatted(format, arguments)};
  va_end(arguments);
  throw failure;
}

void fail_uninitialised() {
  fail(MPI_ERR_OTHER, "MPI is not initialised: it is called before MPI_Init, or after MPI_Finalize");
}

void fail_with_arguments(int code, std::shared_ptr<Communicator> communicator, const char* format,
                         va_list arguments) {
  throw Failure{code, formatted(format, arguments), std::move(communicator)};
}

Errhandler errors_are_fatal(Errhandler::Action::fatal);
Errhandler errors_abort(Errhandler::Action::abort);
Errhandler errors_return(Errhandler::Action::give_back);

namespace {
const bool kErrhandlersAreDefined = [] {
  define(MPI_ERRORS_ARE_FATAL, errors_are_fatal);
  define(MPI_ERRORS_ABORT, errors_abort);
  define(MPI_ERRORS_RETURN, errors_return);
  return true;
}();
}  // namespace

}  // namespace weft::mpi
