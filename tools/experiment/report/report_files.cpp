#include "experiment/report/report_files.hpp"

#include <fmt/core.h>

#include <utility>

#include "common/chart_page.hpp"

namespace weft::tools {

ReportFiles::ReportFiles(std::string name, std::string folder, const std::string& json)
    : name_(std::move(name)), folder_(std::move(folder)), prints_json_(json == "-") {
  if (!json.empty() && !prints_json_) json_.emplace("--json", json);
  if (!folder_.empty()) make_report_folder(folder_);
}

void ReportFiles::write(const ReportTexts& texts) {
  fmt::print("{}", prints_json_ ? texts.json() : texts.text());
  if (json_) json_->write(texts.json());
  write_further(name_ + ".html", texts.html);
  write_further(name_ + ".csv", texts.csv);
  write_further(name_ + ".json", texts.json);
}

void ReportFiles::write_further(const std::string& file, const std::function<std::string()>& make) const {
  if (folder_.empty()) return;
  if (const std::string text = make(); !text.empty())
    OutputFile("--report", folder_ + "/" + file).write(text);
}

std::string list_section(const std::string& heading, const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string text = "<h2>" + heading + "</h2>\n<ul>\n";
  for (const std::string& line : lines) text += "<li>" + escaped(line) + "\n";
  return text + "</ul>\n";
}

std::vector<std::string> with_left_out(std::vector<std::string> findings,
                                       const std::vector<std::string>& left_out) {
  for (const std::string& each : left_out) findings.push_back("left out: " + each);
  return findings;
}

std::string findings_text(const std::vector<std::string>& findings,
                          const std::vector<std::string>& left_out) {
  std::string text;
  for (const std::string& each : findings) text += "* " + each + "\n";
  for (const std::string& each : left_out) text += "left out: " + each + "\n";
  return text;
}

}  // namespace weft::tools
