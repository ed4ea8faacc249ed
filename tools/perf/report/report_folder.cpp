#include "perf/report/report_folder.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "common/chart_axis.hpp"
#include "common/chart_picture.hpp"
#include "perf/report/plots.hpp"
#include "perf/report/report_formats.hpp"

namespace weft::tools::perf {
namespace {

void write_file(const std::string& name, const std::string& text) {
  std::FILE* file = std::fopen(name.c_str(), "w");
  bool written = file != nullptr && std::fputs(text.c_str(), file) >= 0;
  if (file != nullptr) written = std::fclose(file) == 0 && written;
  if (!written) throw Error(fmt::format("--report: {}: {}", name, std::strerror(errno)));
}

}  // namespace

ReportFolder::ReportFolder(std::string path) : path_(std::move(path)) {
  std::error_code failure;
  std::filesystem::create_directories(path_, failure);
  if (failure) throw Error(fmt::format("--report {}: {}", path_, failure.message()));
  if (::access(path_.c_str(), W_OK) != 0)
    throw Error(fmt::format("--report {}: {}", path_, std::strerror(errno)));
}

void ReportFolder::write(const Results& results, const std::string& command) const {
  write_file(path_ + "/perf.html", as_html(results, command));
  write_file(path_ + "/perf.csv", as_csv(results));
  write_file(path_ + "/perf.json", as_json(results));
  const Chart rate = chart_of_message_rate(results);
  if (is_empty(rate)) return;
  const ChartPicture picture = chart_picture(rate);
  if (picture.svg.empty()) {
    fmt::print(stderr, "weft perf: {}/message-rate.svg is left out: {}\n", path_, picture.why_not);
  } else {
    write_file(path_ + "/message-rate.svg", picture.svg);
  }
}

}  // namespace weft::tools::perf
