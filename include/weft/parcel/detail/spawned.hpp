// A task and the shared state of its future, in one piece of memory. Included by calls.hpp.
#pragma once

#include <weft/parcel/detail/future_state.hpp>
#include <weft/parcel/task.hpp>

#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace weft::parcel::detail {

/// Calls a function of no arguments, which is destroyed before the future is ready. It belongs to the task
/// until that has run, and to the future: the state is made with a reference for each.
template <class T, class Function>
class Spawned final : public Task, public FutureState<T> {
 public:
  Spawned(Scheduler& scheduler, Function&& function)
      : Task(&run), FutureState<T>(&scheduler, 2), function_(std::move(function)) {
    this->set_maker(*this);
  }
  ~Spawned() override {}  // the function is gone
  Spawned(const Spawned&) = delete;
  Spawned& operator=(const Spawned&) = delete;

 private:
  static void run(Task& task) noexcept {
    auto& self = static_cast<Spawned&>(task);
    std::exception_ptr error;  // set when it is no longer being handled here
    try {
      if constexpr (std::is_void_v<T>) {
        self.function_();
        self.put();
      } else {
        self.put(self.function_());
      }
    } catch (...) {
      error = std::current_exception();
    }
    std::destroy_at(&self.function_);
    if (error) [[unlikely]]
      self.set_exception(std::move(error));
    else
      self.finish();
    self.release();
  }

  union {
    Function function_;
  };
};

}  // namespace weft::parcel::detail
