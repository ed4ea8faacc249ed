#pragma once

#include <cstdint>
#include <string_view>

namespace weft::base {

enum class LogLevel : std::uint8_t { error, warn, info, debug };  // the order of the attribute log_level

std::string_view to_string(LogLevel level);

/// Writes "weft[rank 3] warn: text" to standard error with one write(2), so that lines of several
/// threads and processes are not torn. A value: each runtime holds its own, there is no global logger.
class Log {
 public:
  /// A negative rank stands for "not in a job (yet)" and is left out of the lines.
  explicit Log(LogLevel level = LogLevel::warn, int rank = -1) : level_(level), rank_(rank) {}

  bool enabled(LogLevel level) const { return level <= level_; }
  /// Any thread. Does nothing for a level that is not enabled; line breaks in the text become blanks.
  void write(LogLevel level, std::string_view text) const;

  void error(std::string_view text) const { write(LogLevel::error, text); }
  void warn(std::string_view text) const { write(LogLevel::warn, text); }
  void info(std::string_view text) const { write(LogLevel::info, text); }
  void debug(std::string_view text) const { write(LogLevel::debug, text); }

 private:
  LogLevel level_;
  int rank_;
};

}  // namespace weft::base
