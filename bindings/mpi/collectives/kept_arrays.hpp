// Arrays of persistent collectives: a program may free them when the call that makes the request has
// returned.
#pragma once

#include "bindings/mpi/collectives/exchange.hpp"
#include "bindings/mpi/objects/numbers.hpp"

#include <memory>
#include <vector>

namespace weft::mpi {

/// A copy of the first `count` numbers of an array; of none where the array is a null pointer.
class KeptNumbers {
 public:
  KeptNumbers(Numbers numbers, int count) {
    if (numbers.is_null() || count == 0) return;
    copy_ = std::make_shared<std::vector<MPI_Count>>();
    for (int index = 0; index < count; ++index) copy_->push_back(numbers[index]);
  }
  operator Numbers() const noexcept {  // NOLINT: reads as the array
    return copy_ == nullptr ? Numbers() : Numbers(copy_->data());
  }

 private:
  std::shared_ptr<std::vector<MPI_Count>> copy_;
};

/// The same of datatypes, which are kept themselves, too.
class KeptTypes {
 public:
  KeptTypes(const MPI_Datatype* types, int count) {
    if (types == nullptr || count == 0) return;
    copy_ = std::make_shared<Copy>();
    copy_->handles.assign(types, types + count);
    for (const MPI_Datatype handle : copy_->handles)
      if (auto* const type = find<Datatype>(handle); type != nullptr) copy_->held.emplace_back(*type);
  }
  operator const MPI_Datatype*() const noexcept {  // NOLINT: reads as the array
    return copy_ == nullptr ? nullptr : copy_->handles.data();
  }

 private:
  struct Copy {
    std::vector<MPI_Datatype> handles;
    std::vector<Type> held;
  };
  std::shared_ptr<Copy> copy_;
};

/// The length of an array that counts on the root only.
[[nodiscard]] inline int length_at_root(const Communicator& communicator, int root) noexcept {
  return communicator.is_root(root) ? communicator.peers().size() : 0;
}

}  // namespace weft::mpi
