#include "run/ranks/program.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace weft::tools::run {
namespace {

constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;

// Returns the reason why the file cannot be executed; empty when it can.
std::string obstacle(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::strerror(errno);
  if (S_ISDIR(status.st_mode)) return "it is a directory";
  if (!S_ISREG(status.st_mode)) return "it is not a file";
  if (::access(path.c_str(), X_OK) != 0) return "it is not executable";
  return {};
}

FoundProgram refuse(const std::string& name, const std::string& reason, int exit_code) {
  return {.path = {},
          .error = fmt::format("the program {} cannot be started: {}", name, reason),
          .exit_code = exit_code};
}

}  // namespace

std::string_view own_folders() {
  const char* const variable = std::getenv("PATH");
  return variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
}

FoundProgram find_program(const std::string& name, std::string_view folders) {
  if (name.find('/') != std::string::npos) {
    const std::string reason = obstacle(name);
    if (reason.empty()) return {.path = name, .error = {}, .exit_code = 0};
    struct stat status {};
    const bool exists = ::stat(name.c_str(), &status) == 0 || errno == EACCES;
    return refuse(name, reason, exists ? kNotExecutable : kNotFound);
  }

  std::string seen_but_unusable;
  for (;;) {
    const std::size_t colon = folders.find(':');
    const std::string folder{folders.substr(0, colon)};
    const std::string path = (folder.empty() ? "." : folder) + "/" + name;
    const std::string reason = obstacle(path);
    if (reason.empty()) return {.path = path, .error = {}, .exit_code = 0};
    if (::access(path.c_str(), F_OK) == 0 && seen_but_unusable.empty())
      seen_but_unusable = path + ": " + reason;
    if (colon == std::string_view::npos) break;
    folders.remove_prefix(colon + 1);
  }
  if (!seen_but_unusable.empty()) return refuse(name, seen_but_unusable, kNotExecutable);
  return refuse(name, fmt::format("it is not in PATH (write ./{} for a file of this folder)", name),
                kNotFound);
}

}  // namespace weft::tools::run
