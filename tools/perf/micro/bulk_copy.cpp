// Copies 16 KiB from the beginning of a page to a place some bytes behind the beginning of another page, by
// memcpy() and by the copy of payloads.
#include "base/memory/bulk_copy.hpp"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace weft::base {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kSize = 4 * kPage;

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Pages = std::unique_ptr<std::byte, Free>;

Pages make_pages() {
  Pages pages(static_cast<std::byte*>(std::aligned_alloc(kPage, kSize + kPage)));
  if (pages == nullptr) std::abort();
  std::memset(pages.get(), 1, kSize + kPage);
  return pages;
}

template <class Copy>
void run(benchmark::State& state, const Copy& copy) {
  const Pages target = make_pages();
  const Pages source = make_pages();
  std::byte* const to = target.get() + state.range(0);
  for ([[maybe_unused]] auto round : state) {
    copy(to, source.get(), kSize);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kSize));
}

void by_memcpy(benchmark::State& state) {
  run(state, [](std::byte* to, const std::byte* from, std::size_t size) { std::memcpy(to, from, size); });
}
void by_copy_bulk(benchmark::State& state) { run(state, copy_bulk); }

void offsets(benchmark::internal::Benchmark* bench) {
  for (const int behind : {0, 2, 8, 24, 40, 56, 72, 100, 136, 520, 4040}) bench->Arg(behind);
}
BENCHMARK(by_memcpy)->Apply(offsets);
BENCHMARK(by_copy_bulk)->Apply(offsets);

}  // namespace
}  // namespace weft::base
