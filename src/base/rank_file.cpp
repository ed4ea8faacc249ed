#include "base/rank_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>

namespace weft::base {

namespace {

bool is_folder(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

}  // namespace

std::string rank_file_name(std::string_view where, std::string_view in_folder, int rank, int size,
                           std::string_view job) {
  std::string pattern(where);
  if (where == "on")
    pattern = in_folder;
  else if (is_folder(pattern))
    pattern.append(pattern.ends_with('/') ? "" : "/").append(in_folder);
  std::string name;
  bool names_rank = false;
  for (std::size_t index = 0; index < pattern.size(); ++index) {
    const char what = pattern[index] == '%' && index + 1 < pattern.size() ? pattern[index + 1] : '\0';
    if (what == 'r') name += std::to_string(rank);
    if (what == 'p') name += std::to_string(::getpid());
    if (what == 'j') name += job;
    names_rank = names_rank || what == 'r' || what == 'p';
    if (what == 'r' || what == 'p' || what == 'j')
      ++index;
    else
      name += pattern[index];
  }
  if (names_rank || size == 1) return name;
  // Each rank needs a file of its own: "trace.json" becomes "trace-0.json".
  const std::size_t folder_end = name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1;
  std::size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot <= folder_end) dot = name.size();
  return name.substr(0, dot).append("-").append(std::to_string(rank)).append(name, dot);
}

}  // namespace weft::base
