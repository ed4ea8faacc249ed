// Whether a machine was left to a measurement.
#pragma once

#include <vector>

namespace weft::tools {

/// Watches what other programs, and a hypervisor, take of processors from its construction on.
class OtherPrograms {
 public:
  /// Of these processors; of those that the process may use when there are none.
  explicit OtherPrograms(std::vector<int> processors = {});

  /// Seconds of the processors so far that neither were idle nor were taken by this process and those
  /// children that it has waited for, divided by all: 0 to 1. 0 where the kernel does not tell.
  [[nodiscard]] double share() const;

 private:
  struct Times {
    double elapsed = 0;
    double busy = 0;
    double own = 0;
  };
  [[nodiscard]] Times now() const;

  std::vector<int> processors_;
  Times start_;
};

/// The share beyond which figures are not comparable with others: a tenth of all processors. What the kernel
/// does in threads of its own, as for sockets, is less.
inline constexpr double kDisturbingShare = 0.1;

}  // namespace weft::tools
