// Ranks of several hosts.
//   where              tells where all ranks are
//   ring --seconds S   every rank sends messages of many sizes to the next one and checks those of the one
//   before,
//                      for S seconds
//   fork               every rank makes a copy of itself, which exits
//   meet               rank 0 waits for a line on its standard input; then every rank sends a message to
//   every other one,
//                      to all at once, and tells how many have come
//   echo               rank 0 copies standard input to standard output
#include "support/rank_program.hpp"

#include <weft/weft.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;
using test::require;

constexpr std::array<std::size_t, 6> kSizes = {8, 400, 5'000, 60'000, 300'000, 2'000'000};
constexpr std::uint32_t kLast = 1U << 30;  // of a tag, which is the number of its message: no other follows

/// In one call, so that lines of ranks stay whole.
void say(const std::ostringstream& text) {
  const std::string line = text.str();
  require(::write(STDOUT_FILENO, line.data(), line.size()) == static_cast<ssize_t>(line.size()), "write");
}

void tell_where(const Runtime& runtime) {
  std::ostringstream line;
  line << "rank " << runtime.rank() << " of " << runtime.size() << " hosts " << runtime.hosts() << ":";
  for (int rank = 0; rank < runtime.size(); ++rank) line << " " << runtime.host_of(rank);
  line << " local:";
  for (const int rank : runtime.local_ranks()) line << " " << rank;
  line << " network " << runtime.network() << "\n";
  say(line);
}

void pass_messages(Runtime& runtime, double seconds) {
  Endpoint endpoint(runtime);
  const int next = (runtime.rank() + 1) % runtime.size();
  const int previous = (runtime.rank() + runtime.size() - 1) % runtime.size();
  std::uint32_t received = 0;
  std::uint32_t all = kLast;  // that will come
  Handler arrived([&](Message& message) {
    require(message.peer() == previous, "a message has come from another rank");
    const std::uint32_t number = message.tag() & ~kLast;
    require(message.size() == kSizes[number % kSizes.size()] && test::matches(message.bytes(), number),
            "a message has changed on its way");
    ++received;
    if (number != message.tag()) all = number + 1;
  });
  const RemoteCompletion remote = runtime.expose(arrived, {.id = 1});
  runtime.barrier();
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  std::uint32_t sent = 0;
  for (bool is_last = false; !is_last; ++sent) {
    is_last = Clock::now() >= until;
    const auto bytes = test::payload(kSizes[sent % kSizes.size()], sent);
    Counter done;
    while (!endpoint.post_am(next, remote, bytes, {.completion = &done, .tag = is_last ? sent | kLast : sent})
                .is_accepted())
      endpoint.progress();
    while (done.value() == 0) endpoint.progress();
  }
  while (received != all) endpoint.progress();
  std::ostringstream line;
  line << "rank " << runtime.rank() << " has passed " << sent << " messages on\n";
  say(line);
  runtime.barrier();
}

void meet(Runtime& runtime) {
  Endpoint endpoint(runtime);
  const int others = runtime.size() - 1;
  int come = 0;
  Handler arrived([&](Message&) { ++come; });
  const RemoteCompletion remote = runtime.expose(arrived, {.id = 1});
  if (runtime.rank() == 0) {
    std::array<char, 1> letter{};
    while (::read(STDIN_FILENO, letter.data(), 1) == 1 && letter[0] != '\n') {
    }
  }
  runtime.barrier();
  std::vector<int> waiting;
  for (int rank = 0; rank < runtime.size(); ++rank)
    if (rank != runtime.rank()) waiting.push_back(rank);
  const std::uint64_t word = 1;
  while (!waiting.empty()) {
    std::erase_if(waiting,
                  [&](int rank) { return endpoint.post_am(rank, remote, bytes_of(word)).is_accepted(); });
    if (!waiting.empty())
      static_cast<void>(endpoint.wait_for([] { return false; }, std::chrono::milliseconds(1)));
  }
  endpoint.wait_until([&] { return come == others; });
  std::ostringstream line;
  line << "rank " << runtime.rank() << " has met " << come << "\n";
  say(line);
  runtime.barrier();
}

void copy_input() {
  std::array<char, 65536> piece;
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, piece.data(), piece.size());
    require(got >= 0, "read");
    if (got == 0) return;
    for (ssize_t written = 0; written < got;) {
      const ssize_t more =
          ::write(STDOUT_FILENO, piece.data() + written, static_cast<std::size_t>(got - written));
      require(more > 0, "write");
      written += more;
    }
  }
}

/// A copy of a rank that calls exit(), as a program does that could not be executed.
void copy_process() {
  const pid_t copy = ::fork();
  if (copy == 0) std::exit(3);
  int status = 0;
  require(::waitpid(copy, &status, 0) == copy && WIFEXITED(status) && WEXITSTATUS(status) == 3,
          "the copy ends in another way");
  std::ostringstream line;
  line << "the copy has ended\n";
  say(line);
}

[[noreturn]] void meet_for_ever(Runtime& runtime) {
  runtime.barrier();
  std::ostringstream line;
  line << "joined\n";
  say(line);
  for (;;) runtime.barrier();
}

}  // namespace
}  // namespace weft

int main(int count, char** arguments) try {
  using namespace weft;
  const std::string mode = count > 1 ? arguments[1] : "";
  Runtime runtime;
  if (mode == "where")
    tell_where(runtime);
  else if (mode == "ring")
    pass_messages(runtime, std::stod(test::option(count, arguments, "seconds", "1")));
  else if (mode == "meet")
    meet(runtime);
  else if (mode == "fork")
    copy_process();
  else if (mode == "barriers")
    meet_for_ever(runtime);
  else if (mode == "echo" && runtime.rank() == 0)
    copy_input();
  else if (mode != "echo")
    test::fail("hosts_rank: the mode \"" + mode +
               "\" does not exist: where, ring, meet, fork, barriers, echo");
} catch (const weft::Error& error) {
  weft::test::fail(error.what());
}
