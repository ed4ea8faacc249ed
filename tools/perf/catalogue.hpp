#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::tools::perf {

enum class Workload { rate, latency, solo };

struct Measurement {
  std::string_view name;  ///< WORKLOAD/TRANSPORT
  Workload workload;
  std::string_view description;

  [[nodiscard]] std::string_view transport() const { return name.substr(name.find('/') + 1); }
  [[nodiscard]] bool is_bare() const { return transport() == "ring" || transport() == "line"; }
  [[nodiscard]] bool is_ucx() const { return transport() == "ucx"; }
};

std::span<const Measurement> catalogue();
/// nullptr when there is none.
const Measurement* find_measurement(std::string_view name);

/// Those that one of the names means: a whole name, a workload, or a transport. Throws weft::Error for a name
/// that means none.
std::vector<const Measurement*> select_measurements(const std::vector<std::string>& names);

/// "rate", "latency", "solo".
std::string_view name_of(Workload workload);

/// What --size takes, and the largest that fits into a slot of the bare ring.
inline constexpr std::size_t kLargestSize = std::size_t{1} << 20;

}  // namespace weft::tools::perf
