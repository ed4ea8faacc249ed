// Error classes and codes: their texts, and those that programs add.
#pragma once

namespace weft::mpi {

/// The class of a code. MPI_ERR_UNKNOWN where the code is none.
[[nodiscard]] int class_of_code(int code);
/// Writes the text of a code: of MPI's own, what it means; of those of programs, what they have said; behind
/// it what the last failure of this thread with this code was. `text` has MPI_MAX_ERROR_STRING characters.
/// Returns the length.
int write_error_text(int code, char* text);
/// The largest code in use.
[[nodiscard]] const int* last_used_code() noexcept;

}  // namespace weft::mpi
