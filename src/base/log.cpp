#include "base/log.hpp"

#include <weft/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>

#include "base/attributes.hpp"
#include "base/clock.hpp"
#include "base/uninterrupted.hpp"

namespace weft::base {

namespace {

constexpr std::array<std::string_view, 5> kLevelNames = {"error", "warn", "info", "debug", "trace"};
constexpr std::array<std::string_view, kLogModules> kModuleNames = {
    "runtime", "bootstrap", "shm",      "tcp",      "ofi",     "ibv",    "sim",
    "mixed",   "memory",    "matching", "protocol", "backlog", "failure"};

std::string listed(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t index = 0; index < names.size(); ++index)
    text += (index == 0 ? "" : index + 1 == names.size() ? " or " : ", ") + std::string(names[index]);
  return text;
}

std::optional<std::size_t> index_of(std::string_view name, std::span<const std::string_view> names) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found != names.end() ? std::optional(static_cast<std::size_t>(found - names.begin())) : std::nullopt;
}

LogLevel parse_level(std::string_view text) {
  const auto index = index_of(text == "warning" ? "warn" : text, kLevelNames);
  if (!index)
    throw Error(ErrorClass::attribute, "\"" + std::string(text) + "\" is no level: it must be " +
                                           listed(kLevelNames) + ", or module=level, separated by commas");
  return static_cast<LogLevel>(*index);
}

}  // namespace

std::string_view to_string(LogLevel level) { return kLevelNames[static_cast<std::size_t>(level)]; }
std::string_view to_string(LogModule module) { return kModuleNames[static_cast<std::size_t>(module)]; }

LogLevels LogLevels::parse(std::string_view text) {
  LogLevels result;
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = text.find(',');
    is_last = comma == std::string_view::npos;
    const std::string_view part = text.substr(0, comma);
    if (!is_last) text.remove_prefix(comma + 1);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      result = LogLevels(parse_level(part));
      continue;
    }
    const auto module = index_of(part.substr(0, equals), kModuleNames);
    if (!module)
      throw Error(ErrorClass::attribute, "\"" + std::string(part.substr(0, equals)) +
                                             "\" is no module: it must be " + listed(kModuleNames));
    result.levels_[*module] = parse_level(part.substr(equals + 1));
  }
  return result;
}

Log::Log(const Attributes& attributes, int rank, LogModule module)
    : Log(LogLevels::parse(attributes.text(Attribute::log)), rank, module) {}

void Log::write(LogLevel level, std::string_view text) const {
  if (!enabled(level)) return;
  std::string line = "weft";
  if (rank_ >= 0) line += "[rank " + std::to_string(rank_) + "]";
  const std::int64_t now = now_ns();
  char time[40];
  std::snprintf(time, sizeof time, " %lld.%06lld ", static_cast<long long>(now / 1'000'000'000),
                static_cast<long long>(now / 1'000 % 1'000'000));
  line += time;
  line += to_string(module_);
  line += ' ';
  line += to_string(level);
  line += ": ";
  line += text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  static_cast<void>(uninterrupted([&line] { return ::write(STDERR_FILENO, line.data(), line.size()); }));
}

}  // namespace weft::base
