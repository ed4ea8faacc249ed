// What one rank tells about itself when somebody asks why it does not go on.
#pragma once

#include "core/diagnosis/pending.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::core {

/// A thread that waits, copied.
struct ReportedWait {
  const char* what = "";
  const char* file = "";
  const char* function = "";
  std::uint32_t line = 0;  // 0: the place is unknown
  std::uint32_t thread = 0;
  std::int32_t device = -1;
  std::int32_t peer = -1;
  double seconds = 0;
  const void* completion = nullptr;
  std::int32_t exposed = -1;  // the id under which peers reach the completion object
};

struct ReportedOperation {
  PendingOperation operation;
  double seconds = 0;  // since it was seen first, by an earlier report; 0: not seen before
};

struct Report {
  int rank = 0;
  int size = 1;
  int process = 0;
  std::vector<ReportedWait> waits;
  std::vector<ReportedOperation> operations;
  std::vector<std::string> notes;  // what is left out, and what could not be looked at
};

/// Several lines for readers, each ended by a line break. `cause`: "SIGUSR1".
[[nodiscard]] std::string to_text(const Report& report, const char* cause);
/// One JSON object; docs/diagnosis.md has its members.
[[nodiscard]] std::string to_json(const Report& report);

}  // namespace weft::core
