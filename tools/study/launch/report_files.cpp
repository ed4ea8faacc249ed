#include "study/launch/report_files.hpp"

#include <fmt/core.h>

#include <utility>

namespace weft::tools::study {

ReportFiles::ReportFiles(std::string name, std::string folder, const std::string& json)
    : name_(std::move(name)), folder_(std::move(folder)), prints_json_(json == "-") {
  if (!json.empty() && !prints_json_) json_.emplace("--json", json);
  if (!folder_.empty()) make_report_folder(folder_);
}

void ReportFiles::write(const ReportTexts& texts) {
  fmt::print("{}", prints_json_ ? texts.json : texts.text);
  if (json_) json_->write(texts.json);
  if (folder_.empty()) return;
  for (const auto& [ending, text] :
       {std::pair{".html", &texts.html}, std::pair{".csv", &texts.csv}, std::pair{".json", &texts.json}})
    OutputFile("--report", folder_ + "/" + name_ + ending).write(*text);
}

}  // namespace weft::tools::study
