// What every function of the C interface goes through: no exception leaves it, and what is wrong has a line.
#pragma once

#include "handle.hpp"

#include <weft_c/base.h>

#include <weft/binding/call_context.hpp>
#include <weft/status.hpp>

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace weft::c {

/// What this interface refuses itself. Nodes of graphs may throw it, too: weft knows exceptions of the
/// standard library.
class BadArgument : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Turns the exception that is being handled into a result, and keeps its line for weft_error_text().
weft_result result_of_exception(const char* function) noexcept;

/// Calls as `function`, which explanations of waits name, and returns its result, or that of what it throws.
template <class Call>
weft_result guarded(const char* function, const Call& call) noexcept {
  const CallContext context(function);
  try {
    return call();
  } catch (...) {
    return result_of_exception(function);
  }
}
/// guarded() for functions whose answer is no weft_result; `otherwise`: their answer after an error.
template <class Answer, class Call>
Answer guarded_or(const char* function, Answer otherwise, const Call& call) noexcept {
  try {
    return call();
  } catch (...) {
    static_cast<void>(result_of_exception(function));
    return otherwise;
  }
}

/// Throws BadArgument unless there is an object; of handles, one of this kind that has not been destroyed.
template <class Object>
Object& present(Object* object, const char* name) {
  if (object == nullptr) [[unlikely]]
    throw BadArgument(std::string(name) + " is null");
  if constexpr (requires { std::remove_const_t<Object>::kHandleKind; }) check_handle(object, name);
  return *object;
}

void check_size(const void* given, std::size_t size, std::size_t known, const char* name);
void check_reserved(std::int64_t reserved, const char* name);

/// A struct of the caller as this library has it: what an older caller's lacks is zero. Throws BadArgument
/// for a size that is none, and for a newer caller's field that is set and not known here; one that a later
/// version may make of `reserved` is among them.
template <class Options>
Options options_of(const Options* given, const char* name) {
  Options options{};
  if (given == nullptr) return options;
  check_size(given, given->size, sizeof options, name);
  std::memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
  if constexpr (requires { options.reserved; }) check_reserved(options.reserved, name);
  return options;
}

[[nodiscard]] weft_result result_of(Outcome outcome) noexcept;
[[nodiscard]] weft_result result_of(Status status) noexcept;
/// How something has ended that a function of the program says; refused for what is no end.
[[nodiscard]] Outcome outcome_of(weft_result result) noexcept;

}  // namespace weft::c
