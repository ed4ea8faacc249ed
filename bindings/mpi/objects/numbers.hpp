// Arguments of the forms with int and with large counts, as one type.
#pragma once

#include <mpi.h>

#include <climits>
#include <cstddef>

namespace weft::mpi {

inline constexpr MPI_Count kUndefined = MPI_UNDEFINED;

/// An array of int, or of MPI_Count or MPI_Aint, of the caller.
class Numbers {
 public:
  Numbers() noexcept = default;
  explicit Numbers(const int* numbers) noexcept : small_(numbers) {}
  explicit Numbers(const MPI_Count* numbers) noexcept : large_(numbers) {}

  [[nodiscard]] MPI_Count operator[](MPI_Count index) const noexcept {
    return small_ != nullptr ? small_[index] : large_[index];
  }
  [[nodiscard]] bool is_null() const noexcept { return small_ == nullptr && large_ == nullptr; }
  [[nodiscard]] bool is_large() const noexcept { return large_ != nullptr; }

 private:
  const int* small_ = nullptr;
  const MPI_Count* large_ = nullptr;
};

/// A result that is an int or an MPI_Count: MPI_UNDEFINED where an int cannot hold the value.
class CountResult {
 public:
  explicit CountResult(int* result) noexcept : small_(result) {}
  explicit CountResult(MPI_Count* result) noexcept : large_(result) {}

  void operator=(MPI_Count value) const noexcept {  // NOLINT: stores where it points
    if (large_ != nullptr)
      *large_ = value;
    else
      *small_ = value > INT_MAX || value < INT_MIN ? MPI_UNDEFINED : static_cast<int>(value);
  }
  [[nodiscard]] MPI_Count get() const noexcept { return large_ != nullptr ? *large_ : *small_; }
  [[nodiscard]] bool is_null() const noexcept { return small_ == nullptr && large_ == nullptr; }

 private:
  int* small_ = nullptr;
  MPI_Count* large_ = nullptr;
};

}  // namespace weft::mpi
