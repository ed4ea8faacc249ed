#include "core/wait/home_processor.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>

#include "base/text/parse.hpp"

namespace weft::core {

namespace {

constexpr std::int64_t kFirstPause = 1'000'000;  // nanoseconds from one move to the next
constexpr std::int64_t kLongestPause = 1'000'000'000;
constexpr int kNone = -1;

struct Home {
  std::size_t local_rank = 0;  // of this rank, among those of this host
  std::size_t count = 0;       // of them; 0: the thread has no home
  int chosen = kNone;          // by the launcher
  std::int64_t next_move = 0;
  std::int64_t pause = kFirstPause;
};

constinit thread_local Home home;

/// The processor of the launcher's choice; -1: it has made none.
int chosen_by_launcher() noexcept try {
  const char* const text = std::getenv("WEFT_START_PROCESSOR");
  const auto number = text == nullptr ? std::nullopt : base::parse_integer(text);
  return number && *number >= 0 && *number < CPU_SETSIZE ? static_cast<int>(*number) : kNone;
} catch (...) {
  return kNone;
}

/// The processor at this index of those that are allowed; -1: there is none.
int nth_of(const cpu_set_t& allowed, std::size_t index) noexcept {
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(static_cast<std::size_t>(processor), &allowed) && index-- == 0) return processor;
  return kNone;
}

/// The home among the processors that the thread may use now, which programs may change at any time; -1:
/// there are fewer of them than ranks.
int home_in(const cpu_set_t& allowed) noexcept {
  if (home.count < 2 || static_cast<std::size_t>(CPU_COUNT(&allowed)) < home.count) return kNone;
  if (home.chosen != kNone && CPU_ISSET(static_cast<std::size_t>(home.chosen), &allowed)) return home.chosen;
  return nth_of(allowed, home.local_rank);
}

/// Goes home, unless it is there, and stays free to run where it was free to run before.
void go_home() noexcept {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  const int processor = home_in(allowed);
  if (processor == kNone || ::sched_getcpu() == processor) return;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(processor), &only);
  if (::sched_setaffinity(0, sizeof only, &only) == 0) ::sched_setaffinity(0, sizeof allowed, &allowed);
}

}  // namespace

void HomeProcessor::choose(std::size_t local_rank, std::size_t count) noexcept {
  home = {.local_rank = local_rank, .count = count < 2 ? 0 : count, .chosen = chosen_by_launcher()};
  if (home.chosen != kNone) go_home();
}

void HomeProcessor::leave_shared(std::int64_t now) noexcept {
  if (home.count == 0 || now < home.next_move) return;
  // Who shares its home as well tries less and less often.
  home.pause = now - home.next_move > kLongestPause ? kFirstPause : std::min(2 * home.pause, kLongestPause);
  home.next_move = now + home.pause;
  go_home();
}

}  // namespace weft::core
