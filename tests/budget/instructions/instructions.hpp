// What the programs of this folder share: they exchange messages between two ranks of one process, to be
// counted by callgrind, and are started as PROGRAM PATH MESSAGES, PATH as in budgets.json.
#pragma once

#include <weft/testing/in_process_job.hpp>
#include <weft/weft.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace weft::budget {

/// Messages that are posted before the receiver progresses: as many as a lane takes credits for at a time.
inline constexpr std::uint64_t kBurst = 64;

template <class EndpointType>
struct Pair {
  InProcessJob job{2};
  Runtime sending{job, 0};
  Runtime receiving{job, 1};
  EndpointType sender{sending};
  EndpointType receiver{receiving};
};

/// One way of a message, by its name in budgets.json.
struct Path {
  std::string_view name;
  void (*run)(std::uint64_t messages);
};

/// main() of a program: runs the path that the command line names, or says with "build" whether figures of
/// this build mean anything.
template <std::size_t Count>
int run_path(int count, char** arguments, const Path (&paths)[Count]) {
  const std::string_view wanted = count > 1 ? arguments[1] : "";
  if (wanted == "build") {
#ifdef NDEBUG
    std::puts("optimised");
#else
    std::puts("with assertions");
#endif
    return 0;
  }
  const std::uint64_t messages = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 0;
  for (const Path& path : paths) {
    if (path.name == wanted) {
      path.run(messages);
      return 0;
    }
  }
  std::fprintf(stderr, "usage: %s PATH MESSAGES, PATH one of", arguments[0]);
  for (const Path& path : paths)
    std::fprintf(stderr, " %.*s", static_cast<int>(path.name.size()), path.name.data());
  std::fputc('\n', stderr);
  return 2;
}

}  // namespace weft::budget
