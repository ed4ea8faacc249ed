#include "perf/report/report_folder.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <utility>

#include "common/chart_axis.hpp"
#include "common/chart_picture.hpp"
#include "common/files/output_file.hpp"
#include "perf/report/plots.hpp"
#include "perf/report/report_formats.hpp"

namespace weft::tools::perf {

ReportFolder::ReportFolder(std::string path) : path_(std::move(path)) { make_report_folder(path_); }

void ReportFolder::write(const Results& results, const std::string& command) const {
  const auto write_file = [this](const char* name, const std::string& text) {
    OutputFile("--report", path_ + "/" + name).write(text);
  };
  write_file("perf.html", as_html(results, command));
  write_file("perf.csv", as_csv(results));
  write_file("perf.json", as_json(results));
  const Chart rate = chart_of_message_rate(results);
  if (is_empty(rate)) return;
  const ChartPicture picture = chart_picture(rate);
  if (picture.svg.empty()) {
    fmt::print(stderr, "weft perf: {}/message-rate.svg is left out: {}\n", path_, picture.why_not);
  } else {
    write_file("message-rate.svg", picture.svg);
  }
}

}  // namespace weft::tools::perf
