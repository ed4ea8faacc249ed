#include "core/matching/gone_contexts.hpp"

#include <algorithm>

namespace weft::core {

void GoneContexts::add(ContextNumbers numbers) noexcept {
  if (added_ != 0 && added_ % kRemembered == 0) {
    // Once in a round the numbers that are forgotten leave the bits.
    for (auto& word : words_) word.store(0, std::memory_order_relaxed);
    for (const ContextNumbers each : contexts_) mark(each);
  }
  contexts_[added_++ % kRemembered] = numbers;
  mark(numbers);
}

void GoneContexts::mark(ContextNumbers numbers) noexcept {
  for (std::uint32_t part = 0; part < std::min(numbers.count, kBits); ++part) {
    const std::uint32_t number = numbers.first + part;
    std::atomic<std::uint64_t>& word = words_[word_of(number)];
    word.store(word.load(std::memory_order_relaxed) | bit_of(number), std::memory_order_relaxed);
  }
}

void GoneContexts::remove(ContextNumbers numbers) noexcept {
  for (ContextNumbers& each : contexts_)
    if (each.first - numbers.first < numbers.count || numbers.first - each.first < each.count) each = {};
}

bool GoneContexts::has(std::uint32_t number) const noexcept {
  return std::ranges::any_of(contexts_,
                             [&](const ContextNumbers& each) { return number - each.first < each.count; });
}

}  // namespace weft::core
