#include <weft/detail/context_state.hpp>
#include <weft/error.hpp>
#include <weft/types.hpp>

#include <string>

namespace weft::detail {

void refuse_index(IndexOf what, std::uint64_t value, bool is_negative) {
  struct Name {
    const char* text;
    std::uint32_t highest;
  };
  const Name name = what == IndexOf::device        ? Name{"device index", 255}
                    : what == IndexOf::engine      ? Name{"matching engine id", kEngineIds - 1}
                    : what == IndexOf::context_tag ? Name{"tag in a matching context:", ~std::uint32_t{0}}
                    : what == IndexOf::context_key
                        ? Name{"key of a matching context:", kLibraryContextKeys - 1}
                        : Name{"id of an exposed object:", 65535};
  throw Error(std::string(name.text) + " " +
              (is_negative ? std::to_string(static_cast<std::int64_t>(value)) : std::to_string(value)) +
              " is out of range: 0 to " + std::to_string(name.highest));
}

}  // namespace weft::detail
