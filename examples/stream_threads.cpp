// Threads with a stream each, the first example of the paper on MPIX streams: thread t of a rank exchanges
// messages with thread t of the next rank. Every stream is a serial context, so no thread takes a lock, and a
// message finds its thread by rank and index.
#include <weft/weft.hpp>

#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr std::uint32_t kThreads = 3;
constexpr std::uint64_t kMessages = 1000;

/// Sends to the next rank and receives from the one before. Returns the sum of what has come.
std::uint64_t exchange(weft::GroupStream mine, int rank, int size) {
  const weft::StreamAddress next{(rank + 1) % size, mine.index()};
  const weft::StreamAddress before{(rank + size - 1) % size, mine.index()};
  std::uint64_t sum = 0;
  for (std::uint64_t number = 0; number < kMessages; ++number) {
    if (mine.send(next, 1, weft::bytes_of(number)) != weft::Outcome::ok) return 0;
    std::uint64_t word = 0;
    if (mine.receive(before, 1, weft::mutable_bytes_of(word)).outcome() != weft::Outcome::ok) return 0;
    sum += word;
  }
  return sum;
}

}  // namespace

int main() try {
  weft::Runtime runtime;
  std::vector<weft::Stream> streams;
  std::vector<weft::Stream*> pointers;
  streams.reserve(kThreads);
  for (std::uint32_t thread = 0; thread < kThreads; ++thread)
    pointers.push_back(&streams.emplace_back(runtime));
  const weft::StreamGroup group(runtime, pointers);

  std::vector<std::uint64_t> sums(kThreads);
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back(
        [&, thread] { sums[thread] = exchange(group.member(thread), runtime.rank(), runtime.size()); });
  for (std::thread& thread : threads) thread.join();

  for (std::uint32_t thread = 0; thread < kThreads; ++thread)
    if (sums[thread] != kMessages * (kMessages - 1) / 2) {
      std::fprintf(stderr, "thread %u received %llu\n", thread,
                   static_cast<unsigned long long>(sums[thread]));
      return 1;
    }
  std::printf("rank %d: %u threads have exchanged %llu messages each\n", runtime.rank(), kThreads,
              static_cast<unsigned long long>(kMessages));
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
