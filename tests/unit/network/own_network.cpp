// Tests of a network name it, and mean shared memory where they name none: what the environment chooses for
// programs is not for them.
#include <cstdlib>

namespace {

[[maybe_unused]] const bool g_is_unset = ::unsetenv("WEFT_NETWORK") == 0;

}  // namespace
