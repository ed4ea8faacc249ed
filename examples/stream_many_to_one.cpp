// N to 1, the second example of the paper on MPIX streams: the worker threads of all ranks send to one thread
// of rank 0, which receives from any stream of any rank and learns from each message where it came from.
#include <weft/weft.hpp>

#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr std::uint32_t kWorkers = 3;  // per rank; they have the streams 0 to 2 there
constexpr std::uint64_t kMessages = 500;
constexpr std::uint32_t kReport = 7;  // the tag

bool collect(weft::GroupStream collector, int ranks) {
  std::vector<std::uint64_t> next(static_cast<std::size_t>(ranks) * kWorkers);
  for (std::uint64_t left = next.size() * kMessages; left > 0; --left) {
    std::uint64_t number = 0;
    const weft::Message message =
        collector.receive({weft::any_source, weft::any_index}, kReport, weft::mutable_bytes_of(number));
    if (message.outcome() != weft::Outcome::ok) return false;
    const weft::StreamAddress sender = collector.sender_of(message);
    // Messages of one stream come in their order.
    if (number != next[static_cast<std::size_t>(sender.rank) * kWorkers + sender.index]++) return false;
  }
  return true;
}

}  // namespace

int main() try {
  weft::Runtime runtime;
  const std::uint32_t own = kWorkers + (runtime.rank() == 0 ? 1 : 0);
  std::vector<weft::Stream> streams;
  std::vector<weft::Stream*> pointers;
  streams.reserve(own);
  for (std::uint32_t index = 0; index < own; ++index) pointers.push_back(&streams.emplace_back(runtime));
  const weft::StreamGroup group(runtime, pointers);

  std::vector<std::thread> workers;
  for (std::uint32_t index = 0; index < kWorkers; ++index)
    workers.emplace_back([&, index] {
      weft::GroupStream mine = group.member(index);
      for (std::uint64_t number = 0; number < kMessages; ++number)
        if (mine.send({0, kWorkers}, kReport, weft::bytes_of(number)) != weft::Outcome::ok) return;
    });
  const bool is_right = runtime.rank() != 0 || collect(group.member(kWorkers), runtime.size());
  for (std::thread& worker : workers) worker.join();
  if (runtime.rank() == 0 && is_right)
    std::printf("%d streams have sent %llu messages each, all in order\n",
                runtime.size() * static_cast<int>(kWorkers), static_cast<unsigned long long>(kMessages));
  return is_right ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
