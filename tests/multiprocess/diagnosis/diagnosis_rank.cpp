// A rank that stays where a test of explanations wants it, until it is killed: diagnosis_rank <mode>.
#include <weft/weft.hpp>

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

namespace {

/// Tells the test that everything has been posted.
void say_ready() { static_cast<void>(!::write(STDOUT_FILENO, "ready\n", 6)); }

[[noreturn]] void sleep_forever() {
  for (;;) ::pause();
}

void wait_for_message(weft::Endpoint& endpoint, int from, std::uint64_t tag) {
  std::uint64_t value = 0;
  static_cast<void>(endpoint.receive(from, tag, std::as_writable_bytes(std::span(&value, 1))));
}

void answer_signal_itself(int) { static_cast<void>(!::write(STDOUT_FILENO, "own handler\n", 12)); }

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "own_handler") ::signal(SIGUSR1, answer_signal_itself);
  weft::Runtime runtime;
  weft::Endpoint endpoint{runtime};
  const int rank = runtime.rank();
  const int next = (rank + 1) % runtime.size();
  if (mode == "circle") {  // everybody waits for the next one
    say_ready();
    wait_for_message(endpoint, next, 100 + rank);
  } else if (mode == "computes") {  // rank 1 does not come back to weft
    say_ready();
    if (rank == 1) sleep_forever();
    wait_for_message(endpoint, 1, 5);
  } else if (mode == "wrong_tag") {  // rank 1 has sent something else, and waits for a message in a queue
    weft::CompletionQueue inbox;
    static_cast<void>(runtime.expose(inbox, {.id = 17}));
    if (rank == 1) endpoint.send(0, 6, weft::bytes_of(rank));
    say_ready();
    if (rank == 1) static_cast<void>(endpoint.wait(inbox));
    wait_for_message(endpoint, 1, 5);
  } else if (mode == "large") {  // rank 0's message is too large to be kept, and rank 1 wants none
    const std::vector<std::byte> bytes(1 << 20);
    say_ready();
    if (rank == 1) sleep_forever();
    endpoint.send(1, 8, bytes);
  } else if (mode == "barrier") {  // rank 0 does not come
    say_ready();
    if (rank == 0) wait_for_message(endpoint, 1, 3);
    runtime.barrier();
  } else if (mode == "ended") {  // rank 1 goes away
    if (rank == 0) say_ready();
    if (rank == 0) wait_for_message(endpoint, 1, 4);
  } else if (mode == "own_handler") {
    say_ready();
    wait_for_message(endpoint, next, 1);
  } else {
    std::fprintf(stderr, "diagnosis_rank: no mode \"%s\"\n", argc > 1 ? argv[1] : "");
    return 2;
  }
}
