#include <weft/binding/call_context.hpp>

namespace weft::detail {

constinit thread_local const CallContext* innermost_call = nullptr;

std::string name_of_call(const char* call, const char* object) {
  std::string name = call;
  if (object != nullptr && *object != '\0') name.append(" on ").append(object);
  return name;
}

std::string describe(const CallContext& context) {
  std::string text = name_of_call(context.call(), context.object());
  if (context.file() != nullptr && context.line() != 0)
    text.append(", at ").append(context.file()).append(":").append(std::to_string(context.line()));
  return text;
}

}  // namespace weft::detail
