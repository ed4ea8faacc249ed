// Making datatypes of others.
#pragma once

#include "bindings/mpi/datatypes/datatype.hpp"
#include "bindings/mpi/objects/current_call.hpp"
#include "bindings/mpi/objects/numbers.hpp"

#include <memory>

namespace weft::mpi {

/// A datatype in the making, and the arguments that its call had.
class Derived {
 public:
  explicit Derived(int combiner) : type_(std::make_unique<Datatype>()) {
    type_->contents.combiner = combiner;
    type_->contents.is_large = is_large_form();
  }

  /// An argument that large-count forms have as a large count.
  void note(MPI_Count count) {
    if (type_->contents.is_large)
      type_->contents.counts.push_back(count);
    else
      type_->contents.integers.push_back(static_cast<int>(count));
  }
  void note(Numbers numbers, MPI_Count count) {
    for (MPI_Count index = 0; index < count; ++index) note(numbers[index]);
  }
  /// An argument that is an address, and in large-count forms a large count.
  void note_address(MPI_Count address) {
    (type_->contents.is_large ? type_->contents.counts : type_->contents.addresses).push_back(address);
  }
  void note_addresses(Numbers addresses, MPI_Count count) {
    for (MPI_Count index = 0; index < count; ++index) note_address(addresses[index]);
  }
  void note_integer(int value) { type_->contents.integers.push_back(value); }
  void note_integers(const int* values, int count) {
    type_->contents.integers.insert(type_->contents.integers.end(), values, values + count);
  }
  void note_type(Datatype& type) { type_->contents.types.push_back(retain(&type)); }

  void add(const Part& part) { type_->parts.push_back(part); }
  [[nodiscard]] Datatype& type() noexcept { return *type_; }
  void lay_out() { mpi::lay_out(*type_); }
  [[nodiscard]] Datatype* release() noexcept { return type_.release(); }
  [[nodiscard]] MPI_Datatype release_handle() noexcept { return handle_of<MPI_Datatype>(type_.release()); }

 private:
  std::unique_ptr<Datatype> type_;
};

}  // namespace weft::mpi
