#include "common/machine/provenance.hpp"

#include <weft/version.hpp>

#include <fmt/core.h>
#include <sys/utsname.h>

#include <ctime>

namespace weft::tools {
namespace {

#if defined(__clang__)
constexpr std::string_view kCompiler = "clang++ " __clang_version__;
#else
constexpr std::string_view kCompiler = "g++ " __VERSION__;
#endif

std::string quoted(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string text(1, '\'');
  for (const char c : word) {
    if (c == '\'') text.append("'\\'");
    text += c;
  }
  text += '\'';
  return text;
}

}  // namespace

std::string command_text(std::string_view program, int argc, const char* const* argv) {
  std::string text(program);
  for (int i = 1; i < argc; ++i) text.append(1, ' ').append(quoted(argv[i]));
  return text;
}

std::string provenance_text() {
  utsname system{};
  ::uname(&system);
  const std::time_t now = std::time(nullptr);
  std::tm time{};
  ::gmtime_r(&now, &time);
  char date[64];
  const std::size_t length = std::strftime(date, sizeof date, "%d %B %Y %H:%M UTC", &time);
  std::string_view text(date, length);
  if (text.starts_with('0')) text.remove_prefix(1);
  return fmt::format("{}; weft {}, {}; {} {} on {}", text, library_version(), kCompiler, system.sysname,
                     system.release, system.machine);
}

}  // namespace weft::tools
