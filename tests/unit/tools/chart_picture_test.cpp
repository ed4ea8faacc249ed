// Pictures by gnuplot.
#include "common/chart_picture.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace weft::tools {
namespace {

/// PATH is one folder for the time of a test.
class PathOf {
 public:
  explicit PathOf(const std::string& folder) : before_(std::getenv("PATH")) {
    ::setenv("PATH", folder.c_str(), 1);
  }
  ~PathOf() { ::setenv("PATH", before_.c_str(), 1); }
  PathOf(const PathOf&) = delete;
  PathOf& operator=(const PathOf&) = delete;

 private:
  std::string before_;
};

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/weft-chart-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Makes a program of that name in the folder.
  void add_program(const std::string& name, const std::string& script) const {
    const std::string file = path_ + "/" + name;
    std::ofstream(file) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }

 private:
  std::string path_;
};

Chart rates() {
  return {.title = "Rate \"a_b\" \\ against threads",
          .note = "more is better",
          .x = {"threads"},
          .value = {"messages per second", Quantity::per_second},
          .series = {{"weft", "weft", {{1, 300e6, 290e6, 310e6}, {2, 500e6}}},
                     {"ucp", "UCX", {{1, 20e6}, {2, 11e6}}}},
          .bands = {{"enough", 100e6, 200e6}}};
}

TEST(ChartPicture, is_what_gnuplot_writes) {
  const Folder folder;
  folder.add_program("gnuplot", "PATH=/usr/bin:/bin\necho '<svg>'\ncat\necho '</svg>'\n");
  const PathOf path(folder.path());
  const ChartPicture picture = chart_picture(rates());
  EXPECT_EQ(picture.why_not, "");
  EXPECT_EQ(picture.svg, "<svg>\n" + gnuplot_script(rates()) + "</svg>\n");
}

TEST(ChartPicture, is_none_without_gnuplot) {
  const Folder folder;
  const PathOf path(folder.path());
  const ChartPicture picture = chart_picture(rates());
  EXPECT_EQ(picture.svg, "");
  EXPECT_EQ(picture.why_not, "gnuplot is not installed");
}

TEST(ChartPicture, is_none_when_gnuplot_fails_and_says_why) {
  const Folder folder;
  folder.add_program("gnuplot", "echo 'no terminal today' >&2\nexit 3\n");
  const PathOf path(folder.path());
  const ChartPicture picture = chart_picture(rates());
  EXPECT_EQ(picture.svg, "");
  EXPECT_EQ(picture.why_not, "gnuplot ended with exit code 3 and no picture: no terminal today");
}

TEST(ChartPicture, of_every_form_is_drawn_by_the_gnuplot_that_is_installed) {
  Chart columns = rates();
  columns.form = Chart::Form::columns;
  for (const Chart& chart : {rates(), columns, Chart{.title = "nothing"}}) {
    const ChartPicture picture = chart_picture(chart);
    if (picture.why_not == "gnuplot is not installed") GTEST_SKIP() << picture.why_not;
    EXPECT_EQ(picture.why_not, "");
    EXPECT_NE(picture.svg.find("<svg"), std::string::npos);
    EXPECT_NE(picture.svg.find("</svg>"), std::string::npos);
  }
  EXPECT_NE(chart_picture(rates()).svg.find("messages per second"), std::string::npos);
}

TEST(GnuplotScript, has_every_point_and_label) {
  const std::string script = gnuplot_script(rates());
  EXPECT_NE(script.find("set title \"Rate \\\"a_b\\\" \\\\ against threads\""), std::string::npos);
  EXPECT_NE(script.find("set logscale y"), std::string::npos);
  EXPECT_NE(script.find("\"100 M/s\" 100000000"), std::string::npos);
  EXPECT_NE(script.find("1 300000000 290000000 310000000"), std::string::npos);
  EXPECT_NE(script.find("title \"ucp\""), std::string::npos);
  EXPECT_NE(script.find("\"enough\""), std::string::npos);
}

TEST(GnuplotScript, columns_on_a_logarithmic_axis_are_dots) {
  Chart columns = rates();
  columns.form = Chart::Form::columns;
  EXPECT_EQ(gnuplot_script(columns).find("with boxes"), std::string::npos);
  EXPECT_NE(gnuplot_script(columns).find("with points"), std::string::npos);
  columns.value.scale = Scale::linear;
  EXPECT_NE(gnuplot_script(columns).find("with boxes"), std::string::npos);
}

}  // namespace
}  // namespace weft::tools
