// Calls that block their thread.
#pragma once

#include <weft/detail/export.hpp>

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace weft::parcel {

namespace detail {
/// Runs `function(argument)` while another thread runs the calling task's worker.
WEFT_API void run_blocking(void (*function)(void*) noexcept, void* argument) noexcept;
}  // namespace detail

/// Returns `function()`, which may block its thread for long: a system call, another library's lock. If the
/// caller is a task, a spare thread takes over its worker meanwhile (up to 64 of them for each runtime, which
/// then stay; where there is none left the worker blocks, too). Within `function` the thread is no worker:
/// waits sleep in it, Runtime::current() is nullptr. Elsewhere than in a task it just calls the function.
template <class Function>
auto blocking(Function&& function) -> std::invoke_result_t<Function&> {
  using Result = std::invoke_result_t<Function&>;
  static_assert(!std::is_reference_v<Result>, "weft: blocking() returns values, not references");
  struct Call {
    Function& function;
    std::optional<std::conditional_t<std::is_void_v<Result>, bool, Result>> result{};
    std::exception_ptr error{};
    static void run(void* argument) noexcept {
      Call& call = *static_cast<Call*>(argument);
      try {
        if constexpr (std::is_void_v<Result>)
          call.function();
        else
          call.result.emplace(call.function());
      } catch (...) {
        call.error = std::current_exception();
      }
    }
  };
  Call call{function};
  detail::run_blocking(&Call::run, &call);
  if (call.error) std::rethrow_exception(std::move(call.error));
  if constexpr (!std::is_void_v<Result>) return std::move(*call.result);
}

}  // namespace weft::parcel
