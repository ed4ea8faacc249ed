#include <weft/binding/call_context.hpp>
#include <weft/binding/expected.hpp>

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

namespace weft {

/// Behind the context of the thread, unless the text begins with that, as those of refuse() do. Without
/// memory for the text the class says what there is to say.
void Failure::take(const char* text) noexcept {
  try {
    std::string whole = text;
    if (const CallContext* const context = CallContext::current(); context != nullptr) {
      const std::string begin = detail::describe(*context) + ": ";
      if (!std::string_view(text).starts_with(begin)) whole.insert(0, begin);
    }
    error_.emplace(error_class_, whole);
  } catch (...) {
    fixed_ = "there is no memory for the text of the error";
  }
}

Failure Failure::caught() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    Failure failure(error.error_class(), "");
    if (CallContext::current() == nullptr)
      failure.error_ = error;  // no allocation
    else
      failure.take(error.what());
    return failure;
  } catch (const std::bad_alloc&) {
    return {ErrorClass::no_memory, "there is no memory (std::bad_alloc)"};
  } catch (const std::system_error& error) {
    Failure failure(ErrorClass::system, "");
    failure.take(error.what());
    return failure;
  } catch (const std::exception& error) {
    Failure failure(ErrorClass::other, "");
    failure.take(error.what());
    return failure;
  } catch (...) {
    return {ErrorClass::other, "something was thrown that is no std::exception"};
  }
}

}  // namespace weft
