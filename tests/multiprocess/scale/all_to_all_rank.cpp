// One rank of an all-to-all: all_to_all_rank --messages N. Prints its memory at the end, in KiB.
#include "support/rank_program.hpp"

#include <fstream>
#include <sstream>

namespace {

using namespace weft;
using test::require;

struct Numbered {
  std::uint32_t number;
  std::uint32_t sender;
};

/// Most messages take one slot, some several, a few a packet.
std::size_t size_of(std::uint32_t number) {
  return number % 250 == 49 ? 3000 : number % 10 == 9 ? 200 : sizeof(Numbered);
}

/// KiB by a line of a file of this process.
std::size_t kibibytes(const char* file, const std::string& line_name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(line_name)) {
      std::size_t size = 0;
      std::istringstream(line.substr(line_name.size())) >> size;
      return size;
    }
  test::fail(std::string("no ") + line_name + " in " + file);
}

/// Which messages of every rank have come.
class Received {
 public:
  Received(int ranks, std::uint32_t messages)
      : seen_(static_cast<std::size_t>(ranks), std::vector<bool>(messages)) {}
  void take(const Message& message) {
    const auto numbered = message.as<Numbered>();
    require(message.peer() >= 0 && static_cast<std::uint32_t>(message.peer()) == numbered.sender,
            "wrong sender");
    auto& seen = seen_[numbered.sender];
    require(numbered.number < seen.size(), "a number that was not sent");
    require(!seen[numbered.number], "a message came twice");
    require(message.size() == size_of(numbered.number), "wrong size");
    require(test::matches(message.bytes().subspan(sizeof numbered), numbered.number + numbered.sender),
            "torn message");
    seen[numbered.number] = true;
    ++count;
  }
  std::uint64_t count = 0;

 private:
  std::vector<std::vector<bool>> seen_;
};

}  // namespace

int main(int count, char** arguments) {
  const auto messages =
      static_cast<std::uint32_t>(std::atoi(test::option(count, arguments, "messages", "1000").c_str()));
  Runtime runtime;
  SerialEndpoint endpoint(runtime);
  Received received(runtime.size(), messages);
  Handler handler([&](Message& message) { received.take(message); });
  const RemoteCompletion remote = runtime.expose(handler, {.id = 1});
  const auto own = static_cast<std::uint32_t>(runtime.rank());
  std::vector<std::byte> payload(size_of(49));
  for (std::uint32_t number = 0; number < messages; ++number) {
    const Numbered numbered{number, own};
    std::memcpy(payload.data(), &numbered, sizeof numbered);
    const std::span<std::byte> bytes = std::span(payload).first(size_of(number));
    test::fill(bytes.subspan(sizeof numbered), number + own);
    for (int step = 0; step < runtime.size(); ++step)
      static_cast<void>(endpoint.send_am((runtime.rank() + step) % runtime.size(), remote, bytes));
  }
  const std::uint64_t expected = std::uint64_t{messages} * static_cast<std::uint64_t>(runtime.size());
  endpoint.wait_until([&] { return received.count == expected; });
  runtime.barrier();
  require(received.count == expected, "more messages than were sent");
  // Of pages that ranks share each has its part: the sum over the ranks is what the job occupies.
  const std::size_t part = kibibytes("/proc/self/smaps_rollup", "Pss:");
  runtime.barrier();
  std::printf("rank %d: %zu KiB of memory, %zu with all that is shared, %llu messages\n", runtime.rank(),
              part, kibibytes("/proc/self/status", "VmRSS:"),
              static_cast<unsigned long long>(received.count));
}
