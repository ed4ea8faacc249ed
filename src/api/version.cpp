#include <weft/version.hpp>

#define WEFT_TEXT_OF(value) #value
#define WEFT_VERSION_TEXT(major, minor, patch) \
  WEFT_TEXT_OF(major) "." WEFT_TEXT_OF(minor) "." WEFT_TEXT_OF(patch)

namespace weft {

const char* library_version() noexcept {
  return WEFT_VERSION_TEXT(WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH);
}

}  // namespace weft
