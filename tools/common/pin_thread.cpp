#include <weft/error.hpp>

#include <fmt/core.h>
#include <sched.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "common/pinning.hpp"

namespace weft::tools {

void pin_thread(const std::vector<int>& processors, std::size_t index) {
  if (processors.empty()) return;
  const int processor = processors[index % processors.size()];
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) {
    throw Error(fmt::format("cannot bind a thread to processor {}: {}", processor, std::strerror(errno)));
  }
}

int rank_from_environment() {
  const char* rank = std::getenv("WEFT_RANK");
  return rank == nullptr ? 0 : std::atoi(rank);
}

}  // namespace weft::tools
