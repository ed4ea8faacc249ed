// Sessions: users of the library beside MPI_Init, from whose process sets groups come.
#pragma once

#include "bindings/mpi/errors/failure.hpp"
#include "bindings/mpi/info/info.hpp"

#include <memory>

namespace weft::mpi {

/// A buffer that the program has attached for buffered sends (requests/send_buffer.hpp).
struct SendBuffer;

struct Session : Object {
  static constexpr Kind kKind = Kind::session;
  Session() noexcept : Object(kKind) {}
  ~Session() {
    release(errhandler);
    release(info);
  }

  Errhandler* errhandler = &errors_are_fatal;  // retained
  Info* info = nullptr;                        // retained
  std::shared_ptr<SendBuffer> send_buffer;     // null unless one is attached
};

}  // namespace weft::mpi
