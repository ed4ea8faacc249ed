// Log lines on standard error, by level and module of the library.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::base {

class Attributes;

/// The levels, the most important first.
enum class LogLevel : std::uint8_t { error, warn, info, debug, trace };

/// The part of the library that writes, as the attribute `log` names it.
enum class LogModule : std::uint8_t {
  runtime,  ///< runtimes and devices: made, drained, ended
  bootstrap,
  shm,
  tcp,
  ofi,
  ibv,
  sim,
  mixed,     ///< the choice of a network for each peer
  memory,    ///< regions
  matching,  ///< engines and credits
  protocol,  ///< large messages, puts, gets and atomic operations
  backlog,
  failure,  ///< failures of ranks
};
inline constexpr std::size_t kLogModules = 13;

std::string_view to_string(LogLevel level);
std::string_view to_string(LogModule module);

/// The least important level that each module writes.
class LogLevels {
 public:
  explicit constexpr LogLevels(LogLevel all = LogLevel::warn) noexcept { levels_.fill(all); }
  /// The attribute `log`: a level, and exceptions for modules, like "info,shm=debug,matching=trace"; later
  /// parts win. "warning" is another word for "warn". Throws weft::Error, without the name of the attribute.
  static LogLevels parse(std::string_view text);

  [[nodiscard]] constexpr LogLevel of(LogModule module) const noexcept {
    return levels_[static_cast<std::size_t>(module)];
  }

 private:
  std::array<LogLevel, kLogModules> levels_{};
};

/// Writes "weft[rank 3] 5113.204117 shm warn: text" to standard error with one write(2), so that lines of
/// several threads and processes are not torn. The time is in seconds of the monotonic clock, which the ranks
/// of a host and their traces have in common. A value: each part holds its own, there is no global logger.
class Log {
 public:
  /// A negative rank stands for "not in a job (yet)" and is left out of the lines.
  explicit Log(LogLevel level = LogLevel::warn, int rank = -1) noexcept
      : Log(LogLevels(level), rank, LogModule::runtime) {}
  Log(const LogLevels& levels, int rank, LogModule module) noexcept
      : levels_(levels), module_(module), rank_(rank) {}
  /// A log with the levels of the attribute `log`.
  Log(const Attributes& attributes, int rank, LogModule module);

  /// Returns a log with the same levels and rank for another module.
  [[nodiscard]] Log in(LogModule module) const noexcept { return {levels_, rank_, module}; }

  [[nodiscard]] bool enabled(LogLevel level) const noexcept { return level <= levels_.of(module_); }
  /// Any thread. Does nothing for a level that is not enabled; line breaks in the text become blanks.
  void write(LogLevel level, std::string_view text) const;

  void error(std::string_view text) const { write(LogLevel::error, text); }
  void warn(std::string_view text) const { write(LogLevel::warn, text); }
  // These levels are usually not written: `make()` returns the text, and is called only if the level is
  // enabled.
  void info(const std::invocable auto& make) const { write_made(LogLevel::info, make); }
  void debug(const std::invocable auto& make) const { write_made(LogLevel::debug, make); }
  void trace(const std::invocable auto& make) const { write_made(LogLevel::trace, make); }

 private:
  void write_made(LogLevel level, const std::invocable auto& make) const {
    if (enabled(level)) [[unlikely]]
      write(level, make());
  }

  LogLevels levels_;
  LogModule module_;
  int rank_;
};

}  // namespace weft::base
