// A rank whose threads only post, progress and pop: no call of weft that waits, no yield of their own.
//
//   polling_rank --threads T --window W --devices own|one --trips N
//
// Thread i of an even rank keeps W messages under way to thread i of the next rank and back, each N times.
// Every message says which one it is and how often it has travelled; both sides check that.
#include "support/rank_program.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace weft {
namespace {

struct Token {
  std::uint32_t number;
  std::uint32_t hops;
};

struct Setting {
  int threads = 1;
  std::uint32_t window = 1;
  bool own = true;
  std::uint32_t hops = 0;  // of each message, there and back
};

/// What a thread polls.
struct Place {
  Place(Runtime& runtime, Endpoint& used, std::uint32_t id)
      : endpoint(used), remote(runtime.expose(inbox, {.id = id, .device = used.attributes().index})) {}
  Endpoint& endpoint;
  CompletionQueue inbox;
  RemoteCompletion remote;
};

void post(Place& place, int peer, const Token& token) {
  while (!place.endpoint.post_am(peer, place.remote, bytes_of(token)).is_accepted())
    place.endpoint.progress();
}

void play(Place& place, const Setting& setting, int rank) {
  const int peer = rank ^ 1;
  const bool begins = rank % 2 == 0;
  std::vector<std::uint32_t> expected(setting.window, begins ? 2 : 1);
  if (begins)
    for (std::uint32_t number = 0; number < setting.window; ++number) post(place, peer, {number, 1});
  Message message;
  for (std::uint32_t ended = 0; ended < setting.window;) {
    place.endpoint.progress();
    while (place.inbox.pop(message)) {
      test::require(message.size() == sizeof(Token) && message.peer() == peer, "a message of somebody else");
      const auto token = message.as<Token>();
      test::require(token.number < setting.window && token.hops == expected[token.number],
                    "a message was lost or came twice");
      expected[token.number] += 2;
      if (token.hops < setting.hops) post(place, peer, {token.number, token.hops + 1});
      if (token.hops + 1 >= setting.hops) ++ended;
    }
  }
}

int run(const Setting& setting) {
  Runtime runtime;
  test::require(runtime.size() % 2 == 0, "an even number of ranks");
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (int index = 0; index < (setting.own ? setting.threads : 1); ++index) {
    devices.push_back(std::make_unique<Device>(runtime, DeviceOptions{.index = index}));
    endpoints.push_back(std::make_unique<Endpoint>(*devices.back()));
  }
  std::vector<std::unique_ptr<Place>> places;
  for (int thread = 0; thread < setting.threads; ++thread)
    places.push_back(std::make_unique<Place>(runtime,
                                             *endpoints[static_cast<std::size_t>(setting.own ? thread : 0)],
                                             static_cast<std::uint32_t>(thread + 1)));
  {
    std::vector<std::jthread> threads;
    for (auto& place : places) threads.emplace_back([&] { play(*place, setting, runtime.rank()); });
  }
  // Whoever is done keeps polling for what others of its rank's devices may need; the barrier does that.
  runtime.barrier();
  std::puts("ended");
  places.clear();
  return 0;
}

}  // namespace
}  // namespace weft

int main(int count, char** arguments) {
  const auto option = [&](const char* name, const char* otherwise) {
    return weft::test::option(count, arguments, name, otherwise);
  };
  weft::Setting setting;
  setting.threads = std::stoi(option("threads", "1"));
  setting.window = static_cast<std::uint32_t>(std::stoul(option("window", "1")));
  setting.own = option("devices", "own") == "own";
  setting.hops = 2 * static_cast<std::uint32_t>(std::stoul(option("trips", "100")));
  return weft::run(setting);
}
