#include "bindings/mpi/communicators/fail_on.hpp"

#include <cstdarg>

namespace weft::mpi {

std::shared_ptr<Communicator> keep(Communicator* communicator) {
  if (communicator == nullptr) return nullptr;
  return {retain(communicator), [](Communicator* kept) { release(kept); }};
}

void fail_on(Communicator* communicator, int code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fail_with_arguments(code, keep(communicator), format, arguments);
}

}  // namespace weft::mpi
