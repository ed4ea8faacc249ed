#pragma once

#include <signal.h>

#include <array>

namespace weft::tools {

/// While one lives, SIGINT, SIGTERM and SIGHUP end what is being measured, and what is measured so far is
/// told. A second signal ends the program as usual.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// The signal that has come; 0: none.
  [[nodiscard]] static int signal() noexcept;

 private:
  std::array<struct sigaction, 3> before_{};  ///< of each of these signals
};

}  // namespace weft::tools
