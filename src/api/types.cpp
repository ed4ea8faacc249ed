#include <weft/detail/context_state.hpp>
#include <weft/error.hpp>
#include <weft/types.hpp>

#include <string>

namespace weft::detail {

void refuse_index(IndexOf what, std::uint64_t value, bool is_negative) {
  struct Name {
    const char* text;
    std::uint32_t highest;
    ErrorClass error_class;
  };
  const Name name = what == IndexOf::device   ? Name{"device index", 255, ErrorClass::device}
                    : what == IndexOf::engine ? Name{"matching engine id", kEngineIds - 1, ErrorClass::engine}
                    : what == IndexOf::context_tag
                        ? Name{"tag in a matching context:", ~std::uint32_t{0}, ErrorClass::tag}
                    : what == IndexOf::context_key
                        ? Name{"key of a matching context:", kLibraryContextKeys - 1, ErrorClass::engine}
                        : Name{"id of an exposed object:", 65535, ErrorClass::target};
  throw Error(name.error_class,
              std::string(name.text) + " " +
                  (is_negative ? std::to_string(static_cast<std::int64_t>(value)) : std::to_string(value)) +
                  " is out of range: 0 to " + std::to_string(name.highest));
}

}  // namespace weft::detail
