#include "common/files/standard_output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace weft::tools {
namespace {

std::string unwritten(int error) {
  std::string line = "standard output cannot be written";
  if (error != 0) line += std::string(": ") + std::strerror(error);
  return line;
}

}  // namespace

int end_of_output(std::string_view program, int exit_code) noexcept {
  errno = 0;
  const bool is_whole = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (is_whole || exit_code != 0) return exit_code;
  std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(program.size()), program.data(),
               unwritten(errno).c_str());
  return 1;
}

std::string reason_of(const std::exception& error) {
  const auto* const failure = dynamic_cast<const std::system_error*>(&error);
  if (failure == nullptr || std::ferror(stdout) == 0) return error.what();
  return unwritten(failure->code().value());
}

}  // namespace weft::tools
