// Ranks of a parcel program: parcel_rank all-sizes | tree | death | answers | huge | stuck | blocked | locks
// [--options TEXT].
#include <weft/parcel/parcel.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "study/parcelports/parcelports.hpp"
#include "support/rank_program.hpp"

namespace {

using weft::parcel::action;
using weft::parcel::Runtime;
using weft::test::require;

std::vector<std::uint64_t> reversed(std::vector<std::uint64_t> values) {
  return {values.rbegin(), values.rend()};
}

void all_sizes(Runtime& runtime) {
  for (int rank = 0; rank < runtime.size(); ++rank)
    for (std::size_t size = 0; size <= 300'000; size = size * 3 + 1) {
      std::vector<std::uint64_t> values(size);
      std::iota(values.begin(), values.end(), static_cast<std::uint64_t>(rank));
      auto expected = reversed(values);
      require(runtime.async(rank, action<&reversed>, std::move(values)).get() == expected,
              "wrong answer of rank " + std::to_string(rank) + " for " + std::to_string(size));
    }
}

std::atomic<std::uint64_t> nodes{0};
void grow(Runtime& runtime, int depth, int number) {
  nodes.fetch_add(1, std::memory_order_relaxed);
  if (depth == 0) return;
  for (int child = 1; child <= 2; ++child)
    runtime.apply((number + child) % runtime.size(), action<&grow>, depth - 1, 2 * number + child);
}
std::uint64_t nodes_here() { return nodes.load(); }

void tree(Runtime& runtime) {
  constexpr int kDepth = 14;
  if (runtime.rank() == runtime.size() - 1) runtime.apply(0, action<&grow>, kDepth, 0);
  runtime.wait_quiet();
  if (runtime.rank() != 0) return;
  std::uint64_t total = 0;
  for (int rank = 0; rank < runtime.size(); ++rank) total += runtime.async(rank, action<&nodes_here>).get();
  std::printf("%llu nodes\n", static_cast<unsigned long long>(total));
}

/// Rank 1 ends while others wait for it.
void death(Runtime& runtime) {
  if (runtime.rank() == 1) {
    // In a thread of its own: the call of a rank that has left the barrier earlier may keep the worker busy
    // that this rank's barrier needs.
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      std::_Exit(9);
    }).detach();
    runtime.barrier();
    std::this_thread::sleep_for(std::chrono::hours(1));
  }
  runtime.barrier();
  const auto sleep = [] { std::this_thread::sleep_for(std::chrono::hours(1)); };
  const auto fails = [&](weft::parcel::Future<void> future, const char* what) {
    try {
      future.get();
      weft::test::fail(std::string(what) + " has ended well");
    } catch (const weft::parcel::PeerFailed& error) {
      require(error.rank() == 1, "another rank is named");
    }
  };
  const weft::parcel::Group all(runtime);
  auto collective = all.barrier();
  fails(runtime.async(1, sleep), "a call before the failure");
  fails(std::move(collective), "a collective before the failure");
  fails(all.barrier(), "a collective after the failure");
  weft::parcel::Group(runtime, {2, 0}).barrier().get();
  require(runtime.has_failed(1), "rank 1 has not failed");
  fails(runtime.async(1, sleep), "a call after the failure");
  weft::parcel::Channel<int> channel(runtime, 3, 1);
  try {
    channel.get(0).get();
    weft::test::fail("a channel of a failed rank has a value");
  } catch (const weft::parcel::PeerFailed&) {
  }
  // The others go on, and end.
  runtime.barrier();
  const auto one = [] { return 1; };
  require(runtime.async(2 - runtime.rank(), one).get() == 1, "no answer of a living rank");
  std::printf("rank %d goes on\n", runtime.rank());
}

/// The last rank ends while arrays and small answers of it are under way.
void answers(Runtime& runtime) {
  runtime.barrier();
  const int last = runtime.size() - 1;
  if (runtime.rank() == 0) {
    const auto small = [](int value) { return value; };
    const auto array = [](std::size_t size) { return std::vector<char>(size, 'x'); };
    std::vector<weft::parcel::Future<int>> values;
    std::vector<weft::parcel::Future<std::vector<char>>> arrays;
    for (int count = 0; count < 300; ++count) {
      values.push_back(runtime.async(last, small, count));
      if (count % 5 == 0) arrays.push_back(runtime.async(last, array, std::size_t{1} << 20));
      if (count == 150) runtime.apply(last, [] { std::_Exit(9); });
    }
    const auto ends = [&](auto& future) {
      try {
        static_cast<void>(future.get());
      } catch (const weft::parcel::PeerFailed& error) {
        require(error.rank() == last, "another rank is named");
      }
    };
    for (auto& value : values) ends(value);
    for (auto& each : arrays) ends(each);
    require(runtime.async(1, small, 5).get() == 5, "no answer of a living rank");
    std::printf("all have ended\n");
  }
}

/// An array of more than 4 GiB, alone and beside a small one.
void huge(Runtime& runtime) {
  if (runtime.rank() != 0) return;
  std::vector<std::uint64_t> words((std::size_t{9} << 29) / sizeof(std::uint64_t) + 3);
  for (std::size_t index = 0; index < words.size(); index += 511) words[index] = index;
  const std::size_t size = words.size();
  const auto count = [](const std::vector<std::uint64_t>& received, const std::string& name) {
    std::uint64_t right = 0;
    for (std::size_t index = 0; index < received.size(); ++index)
      right += received[index] == (index % 511 == 0 ? index : 0) ? 1 : 0;
    return right + name.size();
  };
  require(runtime.async(1, count, std::move(words), std::string("name")).get() == size + 4, "a wrong count");
}

/// A task of rank 1 waits for a value that nobody gives, and rank 0 for that task.
int waits_for_nothing(Runtime& runtime) {
  weft::parcel::Channel<int> channel(runtime, 7);
  return channel.get(1).get();
}
void stuck(Runtime& runtime) {
  if (runtime.rank() == 0) runtime.async(1, action<&waits_for_nothing>).get();
}

/// Tasks of rank 0 block all its workers, and nothing will end that.
void blocked(Runtime& runtime) {
  if (runtime.rank() != 0) return;
  std::mutex mutex;
  const std::lock_guard held(mutex);
  std::vector<weft::parcel::Future<void>> tasks;
  for (int number = 0; number < 8; ++number)
    tasks.push_back(runtime.spawn([&] { const std::lock_guard lock(mutex); }));
  runtime.async(1, action<&waits_for_nothing>).get();
}

std::mutex lock_of_sum;
long sum = 0;
int plus_one(int value) { return value + 1; }
int asks_back(Runtime& runtime, int caller, int value) {
  return runtime.async(caller, action<&plus_one>, value).get();
}
void adds_with_lock(Runtime& runtime, int caller, int value) {
  const std::lock_guard lock(lock_of_sum);
  sum += runtime.async(caller, action<&asks_back>, runtime.rank(), value).get();
}

/// Calls that hold a lock of their rank while they call the other rank, which does the same.
void locks(Runtime& runtime) {
  constexpr int kCalls = 60;
  const int other = (runtime.rank() + 1) % runtime.size();
  std::vector<weft::parcel::Future<void>> tasks;
  for (int number = 0; number < kCalls; ++number) {
    runtime.apply(other, action<&adds_with_lock>, runtime.rank(), number);
    tasks.push_back(runtime.spawn([&runtime, other, number] { adds_with_lock(runtime, other, number); }));
  }
  for (auto& task : tasks) task.get();
  runtime.wait_quiet();
  require(sum == 2L * kCalls * (kCalls + 1) / 2, "the sum is " + std::to_string(sum));
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "";
  const std::string options = weft::test::option(count, arguments, "options", "");
  try {
    weft::parcel::ports::register_all();
    Runtime runtime({.text = options});
    if (mode == "all-sizes")
      all_sizes(runtime);
    else if (mode == "tree")
      tree(runtime);
    else if (mode == "death")
      death(runtime);
    else if (mode == "answers")
      answers(runtime);
    else if (mode == "huge")
      huge(runtime);
    else if (mode == "stuck")
      stuck(runtime);
    else if (mode == "blocked")
      blocked(runtime);
    else if (mode == "locks")
      locks(runtime);
    else
      weft::test::fail("parcel_rank: unknown mode '" + mode + "'");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "parcel_rank: %s\n", error.what());
    return 1;
  }
}
