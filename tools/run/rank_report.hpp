// The report of a rank as the launcher reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::tools::run {

struct WaitReport {
  std::string what;
  std::string file;
  std::int64_t line = 0;  ///< 0: the place is unknown
  std::int64_t peer = -1;
  std::int64_t exposed = -1;
  double seconds = 0;
  std::string completion;
  bool is_for_all = false;  ///< it ends when all ranks wait for the same
};

struct OperationReport {
  std::string kind;
  std::string state;
  std::int64_t peer = -1;
  bool has_tag = false;
  std::uint64_t tag = 0;
  std::uint64_t size = 0;
  std::string completion;
};

struct RankReport {
  std::vector<WaitReport> waits;
  std::vector<OperationReport> operations;
};

/// Nothing for a text that is no such report: what another process has written is not trusted.
std::optional<RankReport> parse_report(const std::string& text);

}  // namespace weft::tools::run
