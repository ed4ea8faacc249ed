#include "study/report_files.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <utility>

namespace weft::tools::study {

namespace {

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw Error(fmt::format("{} cannot be written", path.string()));
}

}  // namespace

ReportFiles::ReportFiles(std::string name, std::string folder, std::string json)
    : name_(std::move(name)), folder_(std::move(folder)), json_(std::move(json)) {
  if (folder_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) throw Error(fmt::format("--report {}: {}", folder_, error.message()));
}

void ReportFiles::write(const ReportTexts& texts) const {
  fmt::print("{}", json_ == "-" ? texts.json : texts.text);
  if (!json_.empty() && json_ != "-") write_file(json_, texts.json);
  if (folder_.empty()) return;
  const std::filesystem::path folder(folder_);
  write_file(folder / (name_ + ".html"), texts.html);
  write_file(folder / (name_ + ".csv"), texts.csv);
  write_file(folder / (name_ + ".json"), texts.json);
}

}  // namespace weft::tools::study
