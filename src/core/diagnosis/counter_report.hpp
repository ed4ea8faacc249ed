// Counters as text.
#pragma once

#include <weft/counters.hpp>

#include <string>

namespace weft::core {

/// Adds the counts of another device or rank.
void add(RuntimeCounters& to, const RuntimeCounters& from) noexcept;

/// Returns the counters that are not 0, one aligned line each below a title that names the rank.
[[nodiscard]] std::string to_table(const RuntimeCounters& counters, int rank);
/// Returns all counters on one line: {"weft_counters":{"rank":0,"size":2,"values":{"name":value,...}}}.
[[nodiscard]] std::string to_json_line(const RuntimeCounters& counters, int rank, int size);

}  // namespace weft::core
