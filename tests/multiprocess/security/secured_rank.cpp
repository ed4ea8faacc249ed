// Ranks that talk while somebody else listens, or changes what they say.
//   talk --rounds N     rank 0 talks with every other rank in turn, N rounds of messages and puts, or until
//   the
//                       other has failed; every byte is checked. Rank 0 tells the secret of the job first.
//   wait --seconds S    every rank makes progress for S seconds and is done; --pause S: all but rank 0 rest
//   for
//                       so long between their two runtimes
// Connections to the ports LO-HI of SECURED_PORTS go to a port that is higher by SECURED_SHIFT: there the
// test sits between the ranks.
#include "base/attributes.hpp"
#include "base/text/hex.hpp"
#include "bootstrap/selection/select.hpp"
#include "support/rank_program.hpp"

#include <weft/weft.hpp>

#include <arpa/inet.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

extern "C" int connect(int socket, const sockaddr* address, socklen_t size) {
  sockaddr_storage other{};
  std::memcpy(&other, address, std::min<std::size_t>(size, sizeof other));
  const char* const ports = std::getenv("SECURED_PORTS");
  if (ports != nullptr && (address->sa_family == AF_INET || address->sa_family == AF_INET6)) {
    // The port lies at the same place for both families.
    auto& port = reinterpret_cast<sockaddr_in&>(other).sin_port;
    char* end = nullptr;
    const auto low = std::strtol(ports, &end, 10);
    const auto high = std::strtol(end + 1, nullptr, 10);
    if (ntohs(port) >= low && ntohs(port) <= high)
      port = htons(static_cast<std::uint16_t>(ntohs(port) + std::atoi(std::getenv("SECURED_SHIFT"))));
  }
  return static_cast<int>(::syscall(SYS_connect, socket, &other, size));
}

namespace weft {
namespace {

using test::require;

constexpr std::array<std::size_t, 5> kSizes = {8, 400, 5'000, 60'000, 700'000};
constexpr std::string_view kPayload = "what the ranks say is not for others; ";
constexpr std::uint32_t kLast = 1U << 30;

void say(const std::string& text) {
  const std::string line = text + "\n";
  require(::write(STDOUT_FILENO, line.data(), line.size()) == static_cast<ssize_t>(line.size()), "write");
}

/// `size` bytes that the test looks for on the wire.
std::vector<std::byte> payload(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t place = 0; place < size; ++place)
    bytes[place] = static_cast<std::byte>(kPayload[place % kPayload.size()]);
  return bytes;
}

/// Joins once more, as the library does: the secret of the job is what programs are not told.
void tell_secret() {
  const auto rank = bootstrap::select_bootstrap(base::Attributes::load({}), "who is asked for the secret");
  rank->barrier();
  if (rank->rank() == 0) say("secret " + base::to_hex(rank->secret()));
  rank->barrier();
}

class Talk {
 public:
  explicit Talk(Runtime& runtime)
      : runtime_(runtime), endpoint_(runtime), arrived_([this](Message& message) { take(message); }) {
    remote_ = runtime.expose(arrived_, {.id = 1});
    region_ = MemoryRegion(runtime, memory_);
    regions_.resize(static_cast<std::size_t>(runtime.size()));
    const RemoteRegion own = region_.remote();
    runtime.allgather(bytes_of(own), std::as_writable_bytes(std::span(regions_)));
  }

  void lead(std::uint32_t rounds) {
    std::vector<std::uint32_t> done(static_cast<std::size_t>(runtime_.size()));
    for (std::uint32_t round = 0; round < rounds; ++round)
      for (int peer = 1; peer < runtime_.size(); ++peer)
        if (round_with(peer, round + 1 == rounds ? round | kLast : round))
          ++done[static_cast<std::size_t>(peer)];
    for (int peer = 1; peer < runtime_.size(); ++peer)
      say("with " + std::to_string(peer) + ": " +
          (done[static_cast<std::size_t>(peer)] == rounds ? "all rounds" : "it has failed"));
  }

  void follow() {
    while (!is_over_ && !runtime_.has_failed(0)) {
      endpoint_.progress();
      if (came_ == answered_) continue;
      const std::uint32_t round = answered_++;
      if (!send(0, round)) break;
      if (round == last_) is_over_ = true;
    }
    // What was sent last is on its way before this rank leaves.
    static_cast<void>(endpoint_.wait_drained(std::chrono::seconds(10)));
  }

 private:
  static std::size_t size_of(std::uint32_t round) { return kSizes[round % kSizes.size()]; }

  void take(Message& message) {
    const std::uint32_t round = message.tag() & ~kLast;
    const auto expected = payload(size_of(round));
    require(message.size() == expected.size() &&
                std::equal(expected.begin(), expected.end(), message.bytes().begin()),
            "a message has changed on its way, and was taken");
    if ((message.tag() & kLast) != 0) last_ = round;
    ++came_;
  }

  /// False: the peer has failed.
  bool send(int peer, std::uint32_t tag) {
    const auto bytes = payload(size_of(tag & ~kLast));
    Counter done;
    while (!endpoint_.post_am(peer, remote_, bytes, {.completion = &done, .tag = tag}).is_accepted()) {
      endpoint_.progress();
      if (runtime_.has_failed(peer)) return false;
    }
    while (done.value() == 0) endpoint_.progress();
    return !runtime_.has_failed(peer);
  }

  bool put(int peer) {
    const auto bytes = payload(memory_.size());
    const RemoteAddress there = regions_[static_cast<std::size_t>(peer)].at(0);
    Counter done;
    while (!endpoint_.post_put(peer, there, bytes, {.completion = &done}).is_accepted()) {
      endpoint_.progress();
      if (runtime_.has_failed(peer)) return false;
    }
    while (done.value() == 0) endpoint_.progress();
    return !runtime_.has_failed(peer);
  }

  bool round_with(int peer, std::uint32_t tag) {
    if (runtime_.has_failed(peer)) return false;
    const std::uint32_t before = came_;
    if (!put(peer) || !send(peer, tag)) return false;
    while (came_ == before && !runtime_.has_failed(peer)) endpoint_.progress();
    return came_ != before;
  }

  Runtime& runtime_;
  Endpoint endpoint_;
  Handler<std::function<void(Message&)>> arrived_;
  RemoteCompletion remote_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(50'000);
  MemoryRegion region_;
  std::vector<RemoteRegion> regions_;
  std::uint32_t came_ = 0;
  std::uint32_t answered_ = 0;
  std::uint32_t last_ = ~std::uint32_t{0};
  bool is_over_ = false;
};

}  // namespace
}  // namespace weft

int main(int count, char** arguments) try {
  using namespace weft;
  const std::string mode = count > 1 ? arguments[1] : "";
  if (mode == "talk") {
    tell_secret();
    Runtime runtime;
    Talk talk(runtime);
    runtime.barrier();
    if (runtime.rank() == 0)
      talk.lead(static_cast<std::uint32_t>(std::stoul(test::option(count, arguments, "rounds", "25"))));
    else
      talk.follow();
  } else if (mode == "wait") {
    tell_secret();
    if (std::getenv("RANK") == nullptr || std::string(std::getenv("RANK")) != "0")
      std::this_thread::sleep_for(
          std::chrono::duration<double>(std::stod(test::option(count, arguments, "pause", "0"))));
    Runtime runtime;
    Endpoint endpoint(runtime);
    say("ready");
    const auto until =
        std::chrono::steady_clock::now() +
        std::chrono::duration<double>(std::stod(test::option(count, arguments, "seconds", "1")));
    while (std::chrono::steady_clock::now() < until) endpoint.progress();
    say("done");
  } else {
    test::fail("secured_rank: the mode \"" + mode + "\" does not exist: talk, wait");
  }
} catch (const weft::Error& error) {
  weft::test::fail(error.what());
}
