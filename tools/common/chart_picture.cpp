#include "common/chart_picture.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "common/chart_axis.hpp"
#include "common/chart_colours.hpp"

extern char** environ;

namespace weft::tools {
namespace {

/// A file without a name.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("chart", MFD_CLOEXEC)) {
    if (descriptor_ < 0) fail("no memory for a picture");
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  void write(const std::string& text) const {
    if (::pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
      fail("cannot write what gnuplot reads");
  }
  [[nodiscard]] std::string read() const {
    const off_t size = ::lseek(descriptor_, 0, SEEK_END);
    std::string text(size > 0 ? static_cast<std::size_t>(size) : 0, '\0');
    if (::pread(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
      fail("cannot read what gnuplot has written");
    return text;
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
  }
  int descriptor_;
};

/// Returns the exit status of `gnuplot -` with these files, or -1 when there is no such program.
int run_gnuplot(const MemoryFile& script, const MemoryFile& picture, const MemoryFile& messages) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, script.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, picture.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, messages.descriptor(), STDERR_FILENO);
  char program[] = "gnuplot";
  char input[] = "-";
  char* arguments[] = {program, input, nullptr};
  pid_t child = 0;
  const int failure = ::posix_spawnp(&child, program, &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure == ENOENT || failure == EACCES || failure == ENOTDIR) return -1;
  if (failure != 0) throw std::runtime_error(fmt::format("cannot start gnuplot: {}", std::strerror(failure)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/// A text for gnuplot, in double quotes.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n')
      result += "\\n";
    else
      result += c;
  }
  return result + '"';
}

std::string ticks_text(const std::vector<ChartTick>& ticks) {
  std::string text;
  for (const ChartTick& tick : ticks)
    fmt::format_to(std::back_inserter(text), "{}{} {:.9g}", text.empty() ? "" : ", ", quoted(tick.text),
                   tick.at);
  return "(" + text + ")";
}

/// Leaves out every second or further one of many ticks, whose labels would overlap.
std::vector<ChartTick> thinned(const std::vector<ChartTick>& ticks) {
  constexpr std::size_t kRoom = 12;
  const std::size_t step = (ticks.size() + kRoom - 1) / kRoom;
  std::vector<ChartTick> kept;
  for (std::size_t i = 0; i < ticks.size(); i += step) kept.push_back(ticks[i]);
  return kept;
}

/// The name of the block with the points of a series.
std::string block_of(std::size_t series) { return fmt::format("$series{}", series); }

void append_points(std::string& text, const Chart& chart, const ChartLayout& layout, std::size_t series) {
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{} << EOD\n", block_of(series));
  for (const ChartPoint& point : chart.series[series].points) {
    const bool has_range = point.high > point.low;
    fmt::format_to(out, "{:.9g} {:.9g} {:.9g} {:.9g}\n",
                   point.x == 0 && layout.is_x_logarithmic ? layout.zero_at : point.x, point.value,
                   has_range ? point.low : point.value, has_range ? point.high : point.value);
  }
  text += "EOD\n";
}

void append_bands(std::string& text, const Chart& chart) {
  int number = 0;
  for (const ChartBand& band : chart.bands) {
    ++number;
    // First and second: coordinates of the axes; graph: shares of the picture.
    fmt::format_to(std::back_inserter(text),
                   "set object {0} rectangle from graph 0, first {1:.9g} to graph 1, first {2:.9g} behind "
                   "fillcolor \"#2a9d5c\" fillstyle solid 0.14 noborder\n"
                   "set label {0} {3} at graph 0.99, first {2:.9g} right offset 0, -0.7 front\n",
                   number, band.from, band.to, quoted(band.name));
  }
}

void append_plot(std::string& text, const Chart& chart, bool has_dots) {
  static constexpr int kMarks[] = {7, 5, 9, 13, 11, 4};
  const std::vector<SeriesStyle> styles = styles_of(chart);
  auto out = std::back_inserter(text);
  std::string separator = "plot ";
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    if (chart.series[i].points.empty()) continue;
    if (chart.form != Chart::Form::lines) {
      const char* const form =
          has_dots ? "points pointtype 7 pointsize 0.6" : "boxes fillstyle solid 0.9 noborder";
      fmt::format_to(out, "{}{} using 1:2 with {} linecolor \"{}\" title {}", separator, block_of(i), form,
                     styles[i].colour, quoted(chart.series[i].name));
    } else {
      const std::size_t index = styles[i].index_in_family;
      fmt::format_to(
          out,
          "{0}{1} using 1:2:3:4 with yerrorbars linecolor \"{2}\" linewidth 1 pointtype 0 notitle, "
          "{1} using 1:2 with linespoints linecolor \"{2}\" linewidth 2 dashtype {3} pointtype {4} "
          "pointsize 0.7 title {5}",
          separator, block_of(i), styles[i].colour, index % 5 + 1, kMarks[index % std::size(kMarks)],
          quoted(chart.series[i].name));
    }
    separator = ", ";
  }
  if (is_empty(chart)) text += "set xrange [0:10]\nplot NaN notitle";
  text += "\n";
}

}  // namespace

std::string gnuplot_script(const Chart& chart) {
  const ChartLayout layout = layout_of(chart);
  std::string text =
      "set terminal svg size 800,480 font \"sans-serif,13\" background \"#ffffff\" noenhanced\n"
      "set encoding utf8\nset border 3 linecolor \"#1c1c22\"\nset tics nomirror out\n"
      "set grid ytics linecolor \"#d9d9df\" linewidth 1 linetype 1\n"
      "set key below left maxcols 3 samplen 3\n";
  auto out = std::back_inserter(text);
  fmt::format_to(out, "set title {} font \"sans-serif,16\"\n", quoted(chart.title));
  fmt::format_to(out, "set xlabel {}\nset ylabel {}\n",
                 quoted(chart.x.label + (chart.note.empty() ? "" : "\n" + chart.note + "\n ")),
                 quoted(chart.value.label));
  if (layout.is_x_logarithmic) text += "set logscale x\n";
  if (layout.is_value_logarithmic) text += "set logscale y\n";
  fmt::format_to(out, "set yrange [{:.9g}:{:.9g}]\nset ytics {}\n", layout.least, layout.most,
                 ticks_text(value_ticks(layout, chart.value.quantity)));
  if (!layout.ticks.empty()) fmt::format_to(out, "set xtics {}\n", ticks_text(thinned(layout.ticks)));
  if (chart.form == Chart::Form::columns) text += "set boxwidth 0.85\n";
  if (!is_empty(chart)) fmt::format_to(out, "set xrange [{:.9g}:{:.9g}]\n", layout.first, layout.last);
  append_bands(text, chart);
  for (std::size_t i = 0; i < chart.series.size(); ++i)
    if (!chart.series[i].points.empty()) append_points(text, chart, layout, i);
  append_plot(text, chart, has_dots(chart, layout));
  return text;
}

ChartPicture chart_picture(const Chart& chart) try {
  const MemoryFile script;
  const MemoryFile picture;
  const MemoryFile messages;
  script.write(gnuplot_script(chart));
  const int status = run_gnuplot(script, picture, messages);
  if (status < 0) return {{}, "gnuplot is not installed"};
  std::string svg = picture.read();
  if (status == 0 && svg.find("</svg>") != std::string::npos) return {std::move(svg), {}};
  const std::string said = messages.read();
  const std::size_t begin = said.find_first_not_of(" \n^");
  return {{},
          fmt::format("gnuplot ended with exit code {} and no picture: {}", status,
                      begin == std::string::npos ? "it said nothing"
                                                 : said.substr(begin, said.find('\n', begin) - begin))};
} catch (const std::runtime_error& error) {
  return {{}, error.what()};
}

}  // namespace weft::tools
