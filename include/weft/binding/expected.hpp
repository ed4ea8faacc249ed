// Errors as values: no exception leaves the calls that are made through these functions. For interfaces that
// no exception may cross, as those of C and MPI; the calls themselves cost what they cost without.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/error.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace weft {

/// An error that was caught: of weft (Error), of the standard library (std::bad_alloc is
/// ErrorClass::no_memory), or of code of the program that was called.
class WEFT_API Failure {
 public:
  /// No error.
  Failure() noexcept = default;
  /// The exception that is being handled. For catch clauses only.
  [[nodiscard]] static Failure caught() noexcept;

  /// Returns true when there is an error.
  [[nodiscard]] explicit operator bool() const noexcept { return error_class_ != ErrorClass::none; }
  [[nodiscard]] ErrorClass error_class() const noexcept { return error_class_; }
  /// One line, as Error::what(); begins with the CallContext of the thread, if it was in one. Valid as long
  /// as the object.
  [[nodiscard]] const char* text() const noexcept { return error_ ? error_->what() : fixed_; }

 private:
  Failure(ErrorClass error_class, const char* fixed) noexcept : error_class_(error_class), fixed_(fixed) {}
  void take(const char* text) noexcept;

  ErrorClass error_class_ = ErrorClass::none;
  const char* fixed_ = "";      // in static storage; the text where there is no error_
  std::optional<Error> error_;  // copies of it share their text
};

/// A value, or the failure of the call that should have returned it.
template <class T>
class [[nodiscard]] Expected {
  static_assert(std::is_object_v<T>, "a value is expected: return a pointer in place of a reference");

 public:
  /// Makes the value of these arguments, as T's constructor would, or holds what that has thrown.
  template <class... Arguments>
  explicit Expected(std::in_place_t, Arguments&&... arguments) noexcept {
    try {
      value_.emplace(std::forward<Arguments>(arguments)...);
    } catch (...) {
      failure_ = Failure::caught();
    }
  }
  explicit Expected(const Failure& failure) noexcept : failure_(failure) {}

  [[nodiscard]] bool has_value() const noexcept { return value_.has_value(); }
  [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }
  /// Only where there is a value.
  [[nodiscard]] T& operator*() noexcept { return *value_; }
  [[nodiscard]] const T& operator*() const noexcept { return *value_; }
  [[nodiscard]] T* operator->() noexcept { return &*value_; }
  [[nodiscard]] const T* operator->() const noexcept { return &*value_; }
  /// None where there is a value.
  [[nodiscard]] const Failure& failure() const noexcept { return failure_; }

 private:
  std::optional<T> value_;
  Failure failure_;
};

template <>
class [[nodiscard]] Expected<void> {
 public:
  Expected() noexcept = default;
  explicit Expected(const Failure& failure) noexcept : failure_(failure) {}
  [[nodiscard]] bool has_value() const noexcept { return !failure_; }
  [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }
  [[nodiscard]] const Failure& failure() const noexcept { return failure_; }

 private:
  Failure failure_;
};

/// Returns call(), or otherwise(failure) when that throws; both return the same type. For functions of a C
/// interface:
///
///   return weft::attempt_or([&] { ...; return WEFT_OK; }, [](const weft::Failure& f) { return code_of(f);
///   });
template <class Call, class Otherwise>
std::invoke_result_t<Call&> attempt_or(Call&& call, Otherwise&& otherwise) noexcept {
  try {
    return call();
  } catch (...) {
    return otherwise(static_cast<const Failure&>(Failure::caught()));
  }
}

/// Returns what call() returns, or why it throws:
///
///   const auto status = weft::attempt([&] { return endpoint.post_send(peer, tag, bytes); });
template <class Call>
Expected<std::invoke_result_t<Call&>> attempt(Call&& call) noexcept {
  using Result = std::invoke_result_t<Call&>;
  try {
    if constexpr (std::is_void_v<Result>) {
      call();
      return Expected<void>();
    } else {
      return Expected<Result>(std::in_place, call());
    }
  } catch (...) {
    return Expected<Result>(Failure::caught());
  }
}

/// Makes an object, also one that cannot be moved, or returns why its constructor throws:
///
///   auto engine = weft::try_make<weft::MatchingEngine>(runtime, weft::MatchingEngineOptions{.id = 7});
///   if (!engine) return code_of(engine.failure());
template <class T, class... Arguments>
Expected<T> try_make(Arguments&&... arguments) noexcept {
  return Expected<T>(std::in_place, std::forward<Arguments>(arguments)...);
}

}  // namespace weft
