// Processors that are not x86-64.
#include "base/host/processor.hpp"

namespace weft::base {

unsigned amd_family() noexcept { return 0; }

}  // namespace weft::base
