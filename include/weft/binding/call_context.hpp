// What a thread is doing in the words of the program, or of an interface on top of weft: for explanations of
// waits and for errors.
#pragma once

#include <weft/detail/export.hpp>

#include <cstdint>
#include <source_location>
#include <string>

namespace weft {

class CallContext;

namespace detail {
extern WEFT_API constinit thread_local const CallContext* innermost_call [[gnu::tls_model("initial-exec")]];
}  // namespace detail

/// While it lives, the calling thread is inside `call` on `object`, which has been called at this place:
/// explanations of its waits (docs/guide/diagnosis.md) and errors that refuse its arguments name that instead
/// of what weft has been called for.
///
///   weft::CallContext context("MPI_Recv", "MPI_COMM_WORLD");              // in a binding
///   weft::CallContext context("exchange", "halo", std::source_location::current());   // in a program
///
/// Contexts of a thread nest, and the innermost one is named. It costs a few instructions, and is destroyed
/// by the thread that has made it: no task of weft::parcel may be suspended meanwhile. The texts are kept as
/// they are passed, and must live as long.
class CallContext {
 public:
  /// `object`, `file`: nullptr: there is none. `line` 0: the place is unknown.
  explicit CallContext(const char* call, const char* object = nullptr, const char* file = nullptr,
                       std::uint32_t line = 0) noexcept
      : call_(call), object_(object), file_(file), line_(line), outer_(detail::innermost_call) {
    detail::innermost_call = this;
  }
  CallContext(const char* call, const char* object, const std::source_location& where) noexcept
      : CallContext(call, object, where.file_name(), where.line()) {}
  ~CallContext() { detail::innermost_call = outer_; }
  CallContext(const CallContext&) = delete;
  CallContext& operator=(const CallContext&) = delete;

  /// The innermost context of the calling thread; nullptr: there is none.
  [[nodiscard]] static const CallContext* current() noexcept { return detail::innermost_call; }

  [[nodiscard]] const char* call() const noexcept { return call_; }
  [[nodiscard]] const char* object() const noexcept { return object_; }
  [[nodiscard]] const char* file() const noexcept { return file_; }
  [[nodiscard]] std::uint32_t line() const noexcept { return line_; }

 private:
  const char* const call_;
  const char* const object_;
  const char* const file_;
  const std::uint32_t line_;
  const CallContext* const outer_;
};

namespace detail {
/// "MPI_Recv on MPI_COMM_WORLD". `object` may be null.
[[nodiscard]] WEFT_API std::string name_of_call(const char* call, const char* object);
/// "MPI_Recv on MPI_COMM_WORLD, at halo.c:12".
[[nodiscard]] WEFT_API std::string describe(const CallContext& context);
}  // namespace detail

}  // namespace weft
