// What a matching engine is made with.
#pragma once

#include <cstdint>
#include <memory>

namespace weft {
class MatchingAlgorithm;
}  // namespace weft

namespace weft::core {

class MatchEventLog;

struct MatchingLimits {
  std::uint32_t buckets;  // a power of two
  std::uint32_t records;  // posted receives and waiting messages, together
  int ranks = 1;
};

/// How an engine matches, and what is told about it.
struct MatchingSetup {
  bool serial = false;
  std::shared_ptr<MatchingAlgorithm> algorithm = nullptr;  // the user's
  bool counters = false;
  MatchEventLog* log = nullptr;

  /// Engines with any of these are not used by the fast paths, and always lock.
  [[nodiscard]] bool has_fast_path() const noexcept { return algorithm == nullptr && !is_observed(); }
  [[nodiscard]] bool is_observed() const noexcept { return counters || log != nullptr; }
};

}  // namespace weft::core
