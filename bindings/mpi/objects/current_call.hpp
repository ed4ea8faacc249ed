// The call of MPI that this thread is in.
#pragma once

#include <cstring>

namespace weft::mpi {

/// The name of the call that this thread is in, or was in last: "MPI_Send".
inline thread_local const char* current_call = "a call of MPI";

/// Where that call returns to in the program.
inline thread_local const void* current_caller = nullptr;

/// Notes the call; every entry point begins with it.
inline void enter(const char* call, const void* caller) noexcept {
  current_call = call;
  current_caller = caller;
}

/// Returns true when the call is a large-count form.
[[nodiscard]] inline bool is_large_form() noexcept {
  const std::size_t length = std::strlen(current_call);
  return length > 2 && current_call[length - 2] == '_' && current_call[length - 1] == 'c';
}

}  // namespace weft::mpi
