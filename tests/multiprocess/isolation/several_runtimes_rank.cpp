// A rank of which two libraries open runtimes in threads of their own, again and again: several_runtimes_rank
// named|unnamed|ordered ROUNDS. ordered: both by one thread, without names.
#include "support/rank_program.hpp"

#include <weft/weft.hpp>

#include <cstdint>
#include <thread>

namespace {

using namespace weft;

/// Sends the library's number, and requires that only such numbers come.
void speak(Runtime& runtime, std::uint64_t library) {
  Endpoint endpoint{runtime};
  CompletionQueue inbox;
  const RemoteCompletion remote = runtime.expose(inbox, {.id = 1});
  static_cast<void>(endpoint.send_am((runtime.rank() + 1) % runtime.size(), remote, bytes_of(library)));
  test::require(endpoint.wait(inbox).as<std::uint64_t>() == library, "two libraries were mixed up");
  runtime.barrier();
}

}  // namespace

int main(int count, char** arguments) {
  test::require(count == 3, "several_runtimes_rank named|unnamed|ordered ROUNDS");
  const std::string how = arguments[1];
  const int rounds = std::atoi(arguments[2]);
  for (int round = 0; round < rounds; ++round) {
    if (how == "ordered") {
      Runtime first;
      Runtime second;
      std::thread other([&] { speak(second, 2); });
      speak(first, 1);
      other.join();
      continue;
    }
    const auto library = [&](std::uint64_t number, const char* name) {
      try {
        Runtime runtime({.attributes = {}, .name = how == "named" ? name : ""});
        speak(runtime, number);
      } catch (const Error& error) {
        test::fail(error.what());
      }
    };
    std::thread one(library, 1, "solver");
    std::thread two(library, 2, "logger");
    one.join();
    two.join();
  }
  std::puts("done");
}
