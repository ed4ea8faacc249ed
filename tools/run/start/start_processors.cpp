#include "run/start/start_processors.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "base/descriptor.hpp"
#include "base/uninterrupted.hpp"

namespace weft::tools::run {

namespace {

std::vector<int> allowed_processors() {
  cpu_set_t allowed;
  std::vector<int> processors;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(static_cast<std::size_t>(processor), &allowed)) processors.push_back(processor);
  return processors;
}

/// Names the core of a processor: equal for those that share one.
std::string core_of(int processor) {
  std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", processor));
  std::string siblings;
  return std::getline(file, siblings) ? siblings : std::to_string(processor);
}

/// The processor on which a process runs now; -1 when it does not run.
int running_on(const char* process) {
  std::array<char, 1024> text{};
  const base::Descriptor file(::open(fmt::format("/proc/{}/stat", process).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || base::uninterrupted([&] { return ::read(file.get(), text.data(), text.size() - 1); }) <= 0)
    return -1;
  const char* rest = std::strrchr(text.data(), ')');  // of the name, which may contain blanks
  if (rest == nullptr || std::strlen(rest) < 3 || rest[2] != 'R') return -1;
  constexpr int kProcessor = 37;  // fields from the state on
  for (int field = 0; field < kProcessor && rest != nullptr; ++field) rest = std::strchr(rest + 1, ' ');
  int processor = -1;
  return rest != nullptr && std::sscanf(rest, " %d", &processor) == 1 ? processor : -1;
}

std::map<int, int> count_running() {
  std::map<int, int> counts;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder{::opendir("/proc"), ::closedir};
  const int self = ::getpid();
  while (const dirent* const entry = folder == nullptr ? nullptr : ::readdir(folder.get())) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || std::atoi(entry->d_name) == self) continue;
    if (const int processor = running_on(entry->d_name); processor >= 0) ++counts[processor];
  }
  return counts;
}

}  // namespace

std::vector<int> start_processors(int count) {
  struct CoreUse {
    int first = 0;
    int running = 0;
  };
  const auto wanted = static_cast<std::size_t>(count);
  const std::vector<int> allowed = allowed_processors();
  if (wanted < 2 || allowed.size() < wanted) return {};
  std::map<std::string, std::size_t> number_of_core;
  std::vector<CoreUse> cores;
  const std::map<int, int> running = allowed.size() > wanted ? count_running() : std::map<int, int>();
  for (const int processor : allowed) {
    const auto [core, is_new] = number_of_core.try_emplace(core_of(processor), cores.size());
    if (is_new) cores.push_back({processor, 0});
    if (const auto found = running.find(processor); found != running.end())
      cores[core->second].running += found->second;
  }
  if (cores.size() < wanted) return {};
  std::stable_sort(cores.begin(), cores.end(),
                   [](const CoreUse& one, const CoreUse& other) { return one.running < other.running; });
  std::vector<int> chosen;
  for (std::size_t rank = 0; rank < wanted; ++rank) chosen.push_back(cores[rank].first);
  std::sort(chosen.begin(), chosen.end());  // neighbours in rank are neighbours on the host
  return chosen;
}

}  // namespace weft::tools::run
