#include "base/descriptor.hpp"

#include <unistd.h>

namespace weft::base {

void Descriptor::close() noexcept {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

}  // namespace weft::base
