// Failures of calls: thrown inside the library, and turned into a code, or a line and the end of the job,
// where they leave it.
#pragma once

#include "bindings/mpi/objects/object.hpp"

#include <cstdarg>
#include <memory>
#include <string>

namespace weft::mpi {

struct Communicator;

/// A failed call: the class of the error, and what is wrong: the argument, its value, what would be right.
struct Failure {
  int code;
  std::string text;
  std::shared_ptr<Communicator>
      communicator{};           // whose error handler learns of it, if not that of the call's own
  bool is_null_result = false;  // there is no place for a result
};

[[noreturn]] [[gnu::format(printf, 2, 3), gnu::cold]] void fail(int code, const char* format, ...);
/// Fails: the library is not there.
[[noreturn]] [[gnu::cold]] void fail_uninitialised();
/// For fail_on() (communicators/fail_on.hpp).
[[noreturn]] void fail_with_arguments(int code, std::shared_ptr<Communicator> communicator,
                                      const char* format, va_list arguments);

/// "MPI_ERR_RANK", ...; an empty string where the class is none of MPI's.
[[nodiscard]] const char* name_of_class(int error_class) noexcept;

/// An error handler: one of the predefined ones, or a function of the program.
struct Errhandler : Object {
  static constexpr Kind kKind = Kind::errhandler;
  enum class Action { fatal, abort, give_back, call };
  enum class Of { any, communicator, window, file, session };
  explicit Errhandler(Action what, Of whose = Of::any) noexcept : Object(kKind), action(what), of(whose) {}

  Action action;
  Of of;
  void (*function)() = nullptr;  // of the type that `of` says
};

extern Errhandler errors_are_fatal, errors_abort, errors_return;

/// Remembers the text of the last failure of this thread, for MPI_Error_string.
void remember_failure(int code, const std::string& text);

}  // namespace weft::mpi
