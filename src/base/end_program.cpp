#include "base/end_program.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/uninterrupted.hpp"

namespace weft::base {

void end_program(std::string_view line) noexcept {
  // One call, so that lines of several threads and processes are not torn.
  const std::string text = "weft: " + std::string(line) + "\n";
  static_cast<void>(uninterrupted([&text] { return ::write(STDERR_FILENO, text.data(), text.size()); }));
  std::abort();
}

}  // namespace weft::base
