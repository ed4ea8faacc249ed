// Outcomes that nobody has read: a process tells of the first ones.
#pragma once

namespace weft::detail {

/// The process has told of none so far. For tests, of which several run in one process.
void report_unread_outcomes_anew() noexcept;

}  // namespace weft::detail
