#include "experiment/launch/weft_path.hpp"

#include <weft/error.hpp>

#include <unistd.h>

#include <climits>

namespace weft::tools {

std::string weft_path() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0)
    throw Error("/proc/self/exe cannot be read, so the ranks cannot be started: is /proc mounted?");
  const std::string own(path, static_cast<std::size_t>(length));
  return own.substr(0, own.rfind('/') + 1) + "weft";
}

}  // namespace weft::tools
