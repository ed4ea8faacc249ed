// One rank of the test of devices that come and go: device_churn_rank --rounds N.
//
// Rank 0 keeps its device. The others open one, send by it, are answered, and close it, again and again.
#include "support/rank_program.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>
#include <array>

namespace {

using namespace weft;
using test::require;

/// KiB that the segment of this rank has in memory.
std::size_t segment_memory() {
  DIR* directory = ::opendir("/proc/self/fd");
  std::size_t found = 0;
  while (const dirent* entry = ::readdir(directory)) {
    std::array<char, 256> target{};
    const std::string path = std::string("/proc/self/fd/") + entry->d_name;
    if (::readlink(path.c_str(), target.data(), target.size() - 1) < 0) continue;
    struct stat information {};
    if (std::string(target.data()).find("weft-rank") != std::string::npos &&
        ::stat(path.c_str(), &information) == 0)
      found += static_cast<std::size_t>(information.st_blocks) / 2;
  }
  ::closedir(directory);
  return found;
}

void keep(Runtime& runtime, int rounds) {
  Endpoint endpoint(runtime);
  Counter ended;
  Handler handler([&](Message& message) {
    // Its answer, to the device that it comes from.
    std::uint64_t answer = 0;
    std::memcpy(&answer, message.data(), sizeof answer);
    const RemoteCompletion to(static_cast<std::uint16_t>(answer >> 48),
                              static_cast<std::uint16_t>(answer >> 32), static_cast<std::uint8_t>(answer));
    static_cast<void>(endpoint.post_am(message.peer(), to, {}, {.may_retry = false}));
  });
  static_cast<void>(runtime.expose(handler, {.id = 1}));
  static_cast<void>(runtime.expose(ended, {.id = 2}));
  std::size_t memory = 0;
  const auto others = static_cast<std::uint64_t>(runtime.size() - 1);
  for (int round = 0; round < rounds; ++round) {
    endpoint.wait(ended, others * static_cast<std::uint64_t>(round + 1));
    if (round == rounds / 4) memory = segment_memory();
  }
  require(segment_memory() <= memory + memory / 4 + 256,
          "the segment of rank 0 grows: " + std::to_string(memory) + " KiB, then " +
              std::to_string(segment_memory()));
}

void come_and_go(Runtime& runtime, int rounds) {
  std::size_t memory = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::int32_t index = round % 3 + 1;
    Device device(runtime, {.index = index});
    Endpoint endpoint(device);
    Counter answers;
    const auto exposed = runtime.expose(answers, {.id = 3, .device = static_cast<std::uint32_t>(index)});
    // Of rank 0, which exposes them once.
    const RemoteCompletion request(1, 1, 0);
    const RemoteCompletion end(2, 1, 0);
    for (std::uint64_t number = 1; number <= 8; ++number) {
      static_cast<void>(endpoint.send_am(0, request, bytes_of(exposed.bits())));
      endpoint.wait(answers, number);
    }
    static_cast<void>(endpoint.send_am(0, end, {}));
    if (round == rounds / 4) memory = segment_memory();
  }
  require(segment_memory() <= memory + memory / 4 + 256,
          "the segment of rank " + std::to_string(runtime.rank()) + " grows: " + std::to_string(memory) +
              " KiB, then " + std::to_string(segment_memory()));
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = std::stoi(test::option(count, arguments, "rounds", "400"));
  Runtime runtime;
  if (runtime.rank() == 0)
    keep(runtime, rounds);
  else
    come_and_go(runtime, rounds);
  runtime.barrier();
}
