#include "base/system_call.hpp"

#include <weft/error.hpp>

#include <sys/resource.h>

#include <cerrno>
#include <cstring>

namespace weft::base {
namespace {

/// Returns the text for a limit of the process, or an empty text when that limit is not set.
std::string limit_text(int resource, const char* what, const char* unit, rlim_t per_unit, const char* shell) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return {};
  return std::string(" (") + what + " limited to " + std::to_string(limit.rlim_cur / per_unit) + unit +
         ", `" + shell + "`)";
}

}  // namespace

std::string failed_call(const char* call, int error) {
  std::string text = std::string(call) + ": " + std::strerror(error);
  if (error == ENOMEM)
    text += limit_text(RLIMIT_AS, "its address space is", " KiB", 1024, "ulimit -v");
  else if (error == EMFILE)
    text += limit_text(RLIMIT_NOFILE, "its open files are", "", 1, "ulimit -n");
  else if (error == EAGAIN)
    text += limit_text(RLIMIT_MEMLOCK, "its locked memory is", " KiB", 1024, "ulimit -l");
  else if (error == EFBIG)
    text += limit_text(RLIMIT_FSIZE, "the size of its files is", " KiB", 1024, "ulimit -f");
  return text;
}

void check_file_size(std::uint64_t bytes, const std::string& what) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur)
    return;
  throw Error(ErrorClass::system, what + " cannot be made: files of this process are limited to " +
                                      std::to_string(limit.rlim_cur) +
                                      " bytes (RLIMIT_FSIZE, `ulimit -f`), which counts for memory "
                                      "that processes share as well; raise that limit or ask for less");
}

}  // namespace weft::base
