#include "network/shm/segment/peer_descriptor.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>

namespace weft::network::shm {

std::string region_key(RegionName name) {
  return "shm.region." + std::to_string(name.index) + "." + std::to_string(name.generation);
}

base::Descriptor open_of_process(std::int32_t process, std::int32_t number) noexcept {
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(number);
  return base::Descriptor{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
}

bool can_open_of_process(std::int32_t process, std::int32_t number, const base::Descriptor& lent) noexcept {
  const base::Descriptor found = open_of_process(process, number);
  struct stat there {};
  struct stat here {};
  return found && ::fstat(found.get(), &there) == 0 && ::fstat(lent.get(), &here) == 0 &&
         there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

bool is_out_of_reach(const bootstrap::Bootstrap& bootstrap) noexcept {
  return bootstrap.is_apart() || ::prctl(PR_GET_DUMPABLE) != 1;
}

}  // namespace weft::network::shm
