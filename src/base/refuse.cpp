#include "base/refuse.hpp"

#include <weft/binding/call_context.hpp>

namespace weft::base {

void refuse(ErrorClass error_class, std::string_view call, const std::string& why) {
  const CallContext* const context = CallContext::current();
  throw Error(error_class,
              (context != nullptr ? detail::describe(*context) : std::string(call)) + ": " + why);
}

}  // namespace weft::base
