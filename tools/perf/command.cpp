#include "command.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "perf/command_line.hpp"
#include "perf/comparison.hpp"
#include "perf/listing.hpp"
#include "perf/measure/task.hpp"
#include "perf/report/report_folder.hpp"
#include "perf/report/report_formats.hpp"
#include "perf/worker.hpp"

namespace weft::tools {
namespace {

/// The file of --json. Opened before measuring, so that a name that cannot be written does not cost a minute
/// first.
class JsonFile {
 public:
  explicit JsonFile(const std::string& name)
      : name_(name), file_(name == "-" ? stdout : std::fopen(name.c_str(), "w")) {
    if (file_ == nullptr) throw Error(fmt::format("--json {}: {}", name_, std::strerror(errno)));
  }
  void write(const std::string& text) {
    const bool written = std::fputs(text.c_str(), file_) >= 0 && std::fflush(file_) == 0;
    if (!written) throw Error(fmt::format("--json {}: {}", name_, std::strerror(errno)));
  }
  ~JsonFile() {
    if (file_ != stdout) std::fclose(file_);
  }
  JsonFile(const JsonFile&) = delete;
  JsonFile& operator=(const JsonFile&) = delete;

 private:
  std::string name_;
  std::FILE* file_;
};

/// The command line, nearly as the user typed it.
std::string command_line(int argc, char** argv) {
  std::string text = "weft perf";
  for (int i = 1; i < argc; ++i) text += std::string(" ") + argv[i];
  return text;
}

}  // namespace

int command_perf(int argc, char** argv) {
  if (argc == 3 && std::string_view{argv[1]} == "--worker")
    return perf::run_worker(perf::parse_task(argv[2]));
  const perf::Parsed parsed = perf::parse_command_line(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  const perf::Options& options = parsed.options;
  if (options.lists) {
    fmt::print("{}", perf::as_list());
    return 0;
  }
  if (options.verify) return perf::verify(options, parsed.measurements) ? 0 : 1;

  std::optional<JsonFile> json;
  if (options.json) json.emplace(*options.json);
  std::optional<perf::ReportFolder> report;
  if (options.report) report.emplace(*options.report);
  const perf::Results results = perf::compare(options, parsed.measurements);
  if (report) report->write(results, command_line(argc, argv));
  if (json) json->write(perf::as_json(results));
  if (options.brief) {
    fmt::print("{}", perf::as_brief(results));
  } else if (options.json != "-") {
    fmt::print("{}", perf::as_table(results));
  }
  return 0;
}

}  // namespace weft::tools
