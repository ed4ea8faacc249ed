#include "base/log.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace weft::base {

std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::error:
      return "error";
    case LogLevel::warn:
      return "warn";
    case LogLevel::info:
      return "info";
    case LogLevel::debug:
      return "debug";
  }
  return "unknown";
}

void Log::write(LogLevel level, std::string_view text) const {
  if (!enabled(level)) return;
  std::string line = "weft";
  if (rank_ >= 0) line += "[rank " + std::to_string(rank_) + "]";
  line += " ";
  line += to_string(level);
  line += ": ";
  line += text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  ssize_t written = 0;
  do {
    written = ::write(STDERR_FILENO, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
}

}  // namespace weft::base
