#include "common/commands/help_text.hpp"

#include <sys/ioctl.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <string_view>

#include "common/wrapped_text.hpp"

namespace weft::tools {
namespace {

/// The parser puts what it says of an option behind the option's name, from this column on.
constexpr std::size_t kColumn = 30;

/// The parser marks an option that may be repeated, or takes a list, by three dots after the name of its
/// value, as if further words could follow.
void remove_dots(std::string& line) {
  constexpr std::string_view kDots = " ...";
  const std::size_t at = line.find(kDots);
  const std::size_t end = at + kDots.size();
  if (!line.starts_with("  -") || at == std::string::npos) return;
  if (end < line.size() && (line[end] != ' ' || end > kColumn)) return;
  line.replace(at, kDots.size(), kDots.size(), ' ');
  line.erase(line.find_last_not_of(' ') + 1);
}

std::string wrapped_line(const std::string& line, std::size_t width) {
  if (line.size() <= width) return line + '\n';
  const bool has_column =
      line.size() > kColumn && line.starts_with("  ") && line[kColumn - 1] == ' ' && line[kColumn] != ' ';
  const std::size_t indent = has_column ? kColumn : line.find_first_not_of(' ');
  return wrapped(line.substr(0, indent), std::string_view(line).substr(indent), width);
}

}  // namespace

std::size_t help_width() {
  constexpr std::size_t kUsual = 80;
  constexpr std::size_t kLeast = 60;  // half of them for what the column leaves
  constexpr std::size_t kMost = 100;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
  return std::clamp<std::size_t>(size.ws_col, kLeast, kMost);
}

std::string help_text(const CLI::App& app, std::size_t width) {
  const std::string help = app.help();
  std::string text;
  for (std::size_t at = 0; at < help.size();) {
    const std::size_t end = std::min(help.find('\n', at), help.size());
    std::string line = help.substr(at, end - at);
    remove_dots(line);
    text += wrapped_line(line, width);
    at = end + 1;
  }
  return text;
}

}  // namespace weft::tools
