#include "output/outputs.hpp"

#include "failure.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kmer {

namespace {

std::optional<struct stat> status_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

/// Returns true when the file is a report of this program.
bool is_own_report(const std::string& path) {
  std::ifstream file(path);
  if (!file) return false;
  const nlohmann::json report = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  return report.is_object() && report.value("program", "") == kProgramName;
}

void check_replaceable(const std::string& path, const std::string& report,
                       const std::vector<InputFile>& inputs) {
  const auto status = status_of(path);
  if (!status) return;
  for (const InputFile& input : inputs)
    if (input.device == status->st_dev && input.inode == status->st_ino)
      throw InputError(fmt::format("{}: is the input {}: choose another --output", path, input.path));
  if (!S_ISREG(status->st_mode)) throw InputError(fmt::format("{}: exists and is not a regular file", path));
  if (!is_own_report(report))
    throw InputError(fmt::format(
        "{}: exists, and no {} tells that weft-kmer wrote it: remove it or choose another --output", path,
        report));
}

}  // namespace

Outputs::Outputs(const std::string& prefix, const std::vector<InputFile>& inputs) {
  if (prefix.empty() || prefix.back() == '/')
    throw InputError(
        fmt::format("--output '{}': expected a prefix of file names, such as {}reads", prefix, prefix));
  for (const char* suffix : {".counts", ".svg", ".json"}) {
    check_replaceable(prefix + suffix, prefix + ".json", inputs);
  }
  try {
    for (const char* suffix : {".counts", ".svg", ".json"}) {
      const std::string path = prefix + suffix;
      const std::string temporary = fmt::format("{}.partial-{}", path, ::getpid());
      ::unlink(temporary.c_str());  // left by an earlier process with the same number
      weft::tools::RemovedOnSignal removed(temporary);
      File file;
      try {
        file = File::create(temporary);
      } catch (const InputError&) {
        throw InputError(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
      }
      parts_.push_back({path, temporary, std::move(file), std::move(removed)});
    }
  } catch (...) {
    for (const Part& part : parts_) ::unlink(part.temporary.c_str());
    throw;
  }
}

Outputs::~Outputs() {
  for (const Part& part : parts_)
    if (!part.temporary.empty()) ::unlink(part.temporary.c_str());
}

void Outputs::commit() {
  for (Part& part : parts_) part.file.close();
  for (Part& part : parts_) {
    if (part.is_left_out) {
      ::unlink(part.path.c_str());
      continue;
    }
    if (std::rename(part.temporary.c_str(), part.path.c_str()) != 0)
      throw InputError(fmt::format("{}: cannot be written: {}", part.path, std::strerror(errno)));
    part.temporary.clear();
  }
}

}  // namespace kmer
