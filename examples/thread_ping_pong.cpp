// Threads play ping-pong in pairs. Each has a device of its own, so no thread ever waits for another one of
// its process: what they share is the runtime, which is not on the path of a message.
//
// Thread t of an even rank plays with thread t of the next rank. A rank without a partner (the only one, or
// the last of an odd number) lets its own threads play with each other, from device to device of one process.
#include <weft/weft.hpp>

#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 2;  // per rank; even, for ranks without a partner
constexpr std::uint64_t kReturns = 10000;

struct Opponent {
  int rank;
  int thread;
  weft::RemoteCompletion inbox;
};

void play(weft::Runtime& runtime, int thread, weft::SerialCompletionQueue& inbox, const Opponent& opponent) {
  // A SerialEndpoint is for one thread: it takes no lock and executes no locked instruction of its own.
  weft::Device device{runtime, {.index = thread}};
  weft::SerialEndpoint endpoint{device};

  const bool serves =
      runtime.rank() != opponent.rank ? runtime.rank() < opponent.rank : thread < opponent.thread;
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t hits = 0;
  const auto hit = [&] { (void)endpoint.send_am(opponent.rank, opponent.inbox, weft::bytes_of(++hits)); };
  if (serves) hit();
  while (hits < 2 * kReturns) {
    hits = endpoint.wait(inbox).as<std::uint64_t>();
    if (hits < 2 * kReturns) hit();
  }

  if (serves) {
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    std::printf("rank %d thread %d against rank %d thread %d: %llu hits, %.0f ns each\n", runtime.rank(),
                thread, opponent.rank, opponent.thread, static_cast<unsigned long long>(hits),
                time.count() / static_cast<double>(hits));
  }
}

}  // namespace

int main() try {
  weft::Runtime runtime;
  const int partner = runtime.rank() ^ 1;
  const bool alone = partner >= runtime.size();

  // One inbox for each thread, which arrives at the device of that thread. One thread fills and empties it.
  weft::SerialCompletionQueue inboxes[kThreads];
  weft::RemoteCompletion handles[kThreads];
  for (std::uint32_t thread = 0; thread < kThreads; ++thread)
    handles[thread] = runtime.expose(inboxes[thread], {.id = thread, .device = thread});

  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    const int other = alone ? thread ^ 1 : thread;
    const Opponent opponent{alone ? runtime.rank() : partner, other, handles[other]};
    threads.emplace_back(
        [&runtime, &inboxes, thread, opponent] { play(runtime, thread, inboxes[thread], opponent); });
  }
  for (std::thread& thread : threads) thread.join();
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
