// A protocol of one's own, tested on the simulated network under many seeds.
//
// Rank 0 serves a lock; the other ranks ask for it, hold it for a while and release it, several times each.
// One of them may die on the way. Whatever the network does, at most one rank holds the lock at a time, and
// every client that lives has all its turns.
//
//     example-simulated_protocol                      seeds 1 to 300
//     example-simulated_protocol --naive              with a server that takes messages to arrive in order
//     example-simulated_protocol --naive --seed 17    one schedule, event by event as before
#include <weft/testing/simulation.hpp>
#include <weft/weft.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace {

constexpr int kClients = 3;
constexpr int kTurns = 10;
constexpr std::uint64_t kTicks = 500'000;  // more than any schedule takes

// Handles are equal on all ranks, so everybody knows them.
constexpr weft::RemoteCompletion kService{1, 1, 0};
constexpr weft::RemoteCompletion kGranted{2, 1, 0};
constexpr weft::RemoteCompletion kAlive{3, 1, 0};

using Reaction = weft::Handler<std::function<void(weft::Message&)>>;

struct Request {
  bool acquires;
  int turn;
};

class Server {
 public:
  Server(weft::Runtime& runtime, bool naive) : endpoint_(runtime), naive_(naive) {
    runtime.expose(requests_, {.id = kService.id()});
  }

  void step() {
    endpoint_.progress();
    if (holder_ == 0 && !waiting_.empty()) {
      const Turn next = waiting_.front();
      if (endpoint_.post_am(next.client, kGranted, weft::bytes_of(next.number)).is_retry()) return;
      holder_ = next.client;
      turn_ = next.number;
      waiting_.pop_front();
    }
    // A holder that has died does not release the lock: while others wait, ask whether it lives.
    if (holder_ != 0 && !waiting_.empty() && !asking_) {
      asking_ = true;  // before the post, within which the answer may come
      if (endpoint_.post_am(holder_, kAlive, {}, {.completion = &answers_}).is_retry()) asking_ = false;
    }
  }

 private:
  struct Turn {
    int client;
    int number;
  };

  void take(int client, Request request) {
    if (!request.acquires) {
      if (client == holder_ && request.turn == turn_) holder_ = 0;
    } else if (naive_ && client == holder_) {
      // "It has the lock and asks again, so my answer was lost." Wrong: a request may overtake the release
      // that was sent before it.
      static_cast<void>(endpoint_.post_am(client, kGranted, weft::bytes_of(request.turn)));
    } else {
      waiting_.push_back({client, request.turn});
    }
  }

  weft::Endpoint endpoint_;
  const bool naive_;
  std::deque<Turn> waiting_;
  int holder_ = 0;  // 0: nobody
  int turn_ = 0;    // of the holder
  bool asking_ = false;
  Reaction requests_{[this](weft::Message& message) { take(message.peer(), message.as<Request>()); }};
  Reaction answers_{[this](weft::Message& ended) {
    asking_ = false;
    if (ended.outcome() == weft::Outcome::peer_failed && ended.peer() == holder_) holder_ = 0;
  }};
};

class Client {
 public:
  Client(weft::Runtime& runtime, const weft::sim::Simulation& simulation)
      : endpoint_(runtime), simulation_(simulation) {
    runtime.expose(grants_, {.id = kGranted.id()});
    runtime.expose(questions_, {.id = kAlive.id()});
  }

  void step() {
    endpoint_.progress();
    if (state_ == State::holds && simulation_.now() > until_) state_ = State::releases;
    if (state_ == State::releases && post({false, turn_})) {
      ++turn_;
      state_ = State::idle;
    }
    if (state_ == State::idle && turn_ < kTurns && post({true, turn_})) state_ = State::waits;
  }
  [[nodiscard]] bool holds() const { return state_ == State::holds; }
  [[nodiscard]] bool finished() const { return turn_ == kTurns; }

 private:
  enum class State { idle, waits, holds, releases };

  bool post(Request request) { return endpoint_.post_am(0, kService, weft::bytes_of(request)).is_accepted(); }

  weft::Endpoint endpoint_;
  const weft::sim::Simulation& simulation_;
  State state_ = State::idle;
  int turn_ = 0;
  std::uint64_t until_ = 0;
  Reaction grants_{[this](weft::Message& message) {
    if (state_ != State::waits || message.as<int>() != turn_) return;
    state_ = State::holds;
    until_ = simulation_.now() + 50;
  }};
  weft::Counter questions_;
};

/// Null, or what went wrong.
const char* fault_of(std::uint64_t seed, bool naive) {
  weft::sim::Simulation simulation({.ranks = 1 + kClients, .seed = seed, .delay = 60, .refuse = 20});
  std::vector<std::unique_ptr<weft::Runtime>> runtimes;
  for (int rank = 0; rank <= kClients; ++rank)
    runtimes.push_back(std::make_unique<weft::Runtime>(simulation, rank));
  Server server(*runtimes[0], naive);
  std::deque<Client> clients;
  for (int rank = 1; rank <= kClients; ++rank)
    clients.emplace_back(*runtimes[static_cast<std::size_t>(rank)], simulation);

  const char* fault = nullptr;
  const int victim = static_cast<int>(seed % (kClients + 1));  // 0: nobody dies
  const std::uint64_t death = seed * 7919 % 5000;
  bool died = false;
  for (bool finished = false; !finished && fault == nullptr;) {
    server.step();
    if (victim != 0 && !died && simulation.now() >= death) {
      simulation.kill(victim);
      died = true;
    }
    int holders = 0;
    finished = true;
    for (int rank = 1; rank <= kClients; ++rank) {
      if (died && rank == victim) continue;
      Client& client = clients[static_cast<std::size_t>(rank - 1)];
      client.step();
      holders += client.holds() ? 1 : 0;
      finished = finished && client.finished();
    }
    if (holders > 1) fault = "two clients hold the lock";
    if (simulation.now() > kTicks) fault = "a client waits for ever";
  }
  // What is still under way arrives, so that nobody waits for it at the end.
  while (simulation.counters().in_flight != 0) {
    server.step();
    for (Client& client : clients) client.step();
  }
  return fault;
}

}  // namespace

int main(int count, char** arguments) try {
  bool naive = false;
  std::uint64_t first = 1;
  std::uint64_t last = 300;
  for (int index = 1; index < count; ++index) {
    if (std::strcmp(arguments[index], "--naive") == 0) naive = true;
    if (std::strcmp(arguments[index], "--seed") == 0 && index + 1 < count)
      first = last = std::strtoull(arguments[index + 1], nullptr, 10);
  }
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const char* fault = fault_of(seed, naive);
    if (fault == nullptr) continue;
    std::printf("seed %llu: %s; to see it again: example-simulated_protocol%s --seed %llu\n",
                static_cast<unsigned long long>(seed), fault, naive ? " --naive" : "",
                static_cast<unsigned long long>(seed));
    return 1;
  }
  std::printf("%llu seeds: never two holders, and every turn was had\n",
              static_cast<unsigned long long>(last - first + 1));
  return 0;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
