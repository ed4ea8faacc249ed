// A receive and its message in the table of a matching engine: without a network, one thread.
#include "core/matching/table/match_table.hpp"
#include "core/matching/table/record_pool.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

namespace weft::core {
namespace {

/// As large as the records of matching engines.
struct alignas(128) Record : MatchLink, PooledRecord {
  void* buffer = nullptr;
};
using Table = MatchTable<Record>;

struct Engine {
  explicit Engine(bool serial) : table(16384, serial), records(1 << 16, serial) {}
  void post(std::uint64_t tag) {
    const auto result = table.pair(MatchSide::posted, {tag, 1, 0}, [&] { return records.take(); });
    if (result.answer != Table::Answer::kept) std::abort();
  }
  void arrive(std::uint64_t tag) {
    const auto result = table.pair(MatchSide::unexpected, {tag, 1, 0}, []() -> Record* { return nullptr; });
    if (result.answer != Table::Answer::matched) std::abort();
    records.release(*result.record);
  }
  Table table;
  RecordPool<Record> records;
};

/// `posts`: the tags of the posts; then those of the arrivals.
void run(benchmark::State& state, const std::vector<std::uint64_t>& posts,
         const std::vector<std::uint64_t>& arrivals) {
  Engine engine(state.range(0) != 0);
  for (auto _ : state) {
    for (const std::uint64_t tag : posts) engine.post(tag);
    for (const std::uint64_t tag : arrivals) engine.arrive(tag);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(posts.size()));
  state.counters["per_message"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(posts.size()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

std::vector<std::uint64_t> tags(std::size_t count, std::uint64_t stride) {
  std::vector<std::uint64_t> result(count);
  for (std::size_t index = 0; index < count; ++index) result[index] = index * stride;
  return result;
}

void window_with_one_tag(benchmark::State& state) { run(state, tags(64, 0), tags(64, 0)); }
void window_with_different_tags(benchmark::State& state) { run(state, tags(64, 1), tags(64, 1)); }
void many_posted_arrivals_in_order(benchmark::State& state) { run(state, tags(8192, 1), tags(8192, 1)); }
void many_posted_arrivals_shuffled(benchmark::State& state) {
  auto arrivals = tags(8192, 1);
  std::shuffle(arrivals.begin(), arrivals.end(), std::mt19937(1));
  run(state, tags(8192, 1), arrivals);
}
void many_posted_random_tags_shuffled(benchmark::State& state) {
  std::vector<std::uint64_t> posts(8192);
  std::mt19937_64 random(1);
  for (std::uint64_t& tag : posts) tag = random();
  auto arrivals = posts;
  std::shuffle(arrivals.begin(), arrivals.end(), random);
  run(state, posts, arrivals);
}

BENCHMARK(window_with_one_tag)->ArgName("serial")->Arg(1)->Arg(0);
BENCHMARK(window_with_different_tags)->ArgName("serial")->Arg(1)->Arg(0);
BENCHMARK(many_posted_arrivals_in_order)->ArgName("serial")->Arg(1)->Arg(0);
BENCHMARK(many_posted_arrivals_shuffled)->ArgName("serial")->Arg(1)->Arg(0);
BENCHMARK(many_posted_random_tags_shuffled)->ArgName("serial")->Arg(1)->Arg(0);

}  // namespace
}  // namespace weft::core
