#include "study/matching/ranks/halo_run.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>

namespace weft::tools::study {

HaloCase::HaloCase(const Json& parameters)
    : engine(parameters.at("engine")),
      exchange(enumerate_halo(parse_decomposition(parameters.at("decomposition").get<std::string>()))),
      tags(strided_tags(exchange)),
      senders(parameters.at("senders")),
      is_unexpected(parameters.at("unexpected")),
      has_counters(parameters.at("counters")),
      runs(parameters.at("runs")),
      warm_ups(parameters.at("warm_ups")),
      seed(parameters.at("seed")) {}

std::vector<MessageOrder> HaloCase::threads_of(int rank) const {
  if (rank == 0) return messages_by_receiver(exchange);
  std::vector<MessageOrder> own;
  for (MessageOrder& messages : messages_by_sender(exchange))
    if (!messages.empty() && source_of(messages.front()) == rank) own.push_back(std::move(messages));
  return own;
}

void run_threads(const std::vector<MessageOrder>& threads, std::uint64_t seed,
                 const std::function<void()>& begin, const std::function<void(std::uint32_t)>& work) {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t ready = 0;
  bool has_begun = false;
  std::exception_ptr failure;
  std::vector<std::size_t> order(threads.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  std::vector<std::jthread> running;
  running.reserve(threads.size());
  for (const std::size_t thread : order)
    running.emplace_back([&, thread] {
      {
        std::unique_lock lock(mutex);
        ++ready;
        changed.notify_all();
        changed.wait(lock, [&] { return has_begun; });
      }
      try {
        std::mt19937_64 random(seed * threads.size() + thread);
        std::geometric_distribution<int> turns(0.4);
        for (const std::uint32_t message : threads[thread]) {
          for (int turn = turns(random); turn > 0; --turn) ::sched_yield();
          work(message);
        }
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
    });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ready == threads.size(); });
    begin();
    has_begun = true;
    changed.notify_all();
  }
  running.clear();  // joins
  if (failure) std::rethrow_exception(failure);
}

double time_posts(const std::vector<MessageOrder>& threads, std::uint64_t seed,
                  const std::function<void(std::uint32_t)>& post) {
  std::atomic<std::int64_t> posting_ns{0};
  run_threads(
      threads, seed, [] {},
      [&](std::uint32_t message) {
        const auto begin = std::chrono::steady_clock::now();
        post(message);
        const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - begin;
        posting_ns.fetch_add(time.count(), std::memory_order_relaxed);
      });
  return static_cast<double>(posting_ns.load()) / 1000;
}

ReadySigns::ReadySigns(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  void* const memory =
      file < 0 ? MAP_FAILED : ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int error = errno;
  if (file >= 0) ::close(file);
  if (memory == MAP_FAILED) throw Error(path + ": " + std::strerror(error));
  numbers_ = static_cast<std::uint32_t*>(memory);
}

ReadySigns::~ReadySigns() { ::munmap(numbers_, kBytes); }

void ReadySigns::wait_for(int ranks, std::uint32_t number) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (int rank = 1; rank <= ranks; ++rank)
    while (!has_reached(rank, number)) {
      if (std::chrono::steady_clock::now() > end)
        throw Error("rank " + std::to_string(rank) + " has sent nothing for a minute");
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

}  // namespace weft::tools::study
