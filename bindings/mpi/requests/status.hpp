// What an MPI_Status of ours holds beside the public fields.
#pragma once

#include <mpi.h>

#include <cstring>

namespace weft::mpi {

inline void set_bytes(MPI_Status& status, MPI_Count bytes) noexcept {
  std::memcpy(&status.MPI_internal[0], &bytes, sizeof bytes);
}
[[nodiscard]] inline MPI_Count bytes_in(const MPI_Status& status) noexcept {
  MPI_Count bytes;
  std::memcpy(&bytes, &status.MPI_internal[0], sizeof bytes);
  return bytes;
}
inline void set_cancelled(MPI_Status& status, bool cancelled) noexcept {
  status.MPI_internal[2] = cancelled ? 1 : 0;
}
[[nodiscard]] inline bool is_cancelled(const MPI_Status& status) noexcept {
  return status.MPI_internal[2] == 1;
}

/// A status of MPI_ANY_SOURCE and MPI_ANY_TAG without a count: of sends, and of requests that are not active.
[[nodiscard]] inline MPI_Status empty_status() noexcept {
  return {MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_SUCCESS, {0, 0, 0, 0, 0}};
}
[[nodiscard]] inline MPI_Status status_of_no_process() noexcept {
  return {MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS, {0, 0, 0, 0, 0}};
}

}  // namespace weft::mpi
