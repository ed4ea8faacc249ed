#include "common/machine/other_programs.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace weft::tools {
namespace {

std::vector<int> allowed_processors() {
  std::vector<int> processors;
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &set)) processors.push_back(processor);
  return processors;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double seconds_of(int who) {
  rusage usage{};
  return ::getrusage(who, &usage) == 0 ? seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime) : 0;
}

}  // namespace

OtherPrograms::OtherPrograms(std::vector<int> processors) : processors_(std::move(processors)) {
  if (processors_.empty()) processors_ = allowed_processors();
  start_ = now();
}

OtherPrograms::Times OtherPrograms::now() const {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  Times times{.elapsed = static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9};
  times.own = seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN);
  std::ifstream file("/proc/stat");
  const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("cpu") || line.starts_with("cpu ")) continue;
    std::istringstream words(line.substr(3));
    int processor = -1;
    // user, nice, system, idle, iowait, irq, softirq, steal; what guests take is in user already.
    double ticks[8] = {};
    words >> processor;
    for (double& each : ticks) words >> each;
    if (std::ranges::find(processors_, processor) == processors_.end()) continue;
    times.busy += tick * (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7]);
  }
  return times;
}

double OtherPrograms::share() const {
  const Times end = now();
  const double all = (end.elapsed - start_.elapsed) * static_cast<double>(processors_.size());
  const double others = (end.busy - start_.busy) - (end.own - start_.own);
  return all > 0 ? std::clamp(others / all, 0.0, 1.0) : 0;
}

}  // namespace weft::tools
