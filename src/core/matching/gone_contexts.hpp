// The agreed contexts that have ended here last: what arrives in them is dropped, and its sender has the
// credit back. An agreed number is given again only after very many others, so a message in it comes late.
//
// Who stores a message that has come looks here before that, and once more afterwards (has_ended_more()): a
// context that ends in between may have looked for its messages before.
#pragma once

#include <weft/detail/context_state.hpp>
#include <weft/options.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace weft::core {

/// kRemembered: contexts, or blocks of them, that are remembered at most. The atomic type is a parameter so
/// that tests can drive schedules.
template <template <class> class Atomic = std::atomic, std::uint32_t kRemembered = 1024>
class BasicGoneContexts {
 public:
  /// `numbers`: how many a rank gives. A quarter of that is remembered at most, because what comes in a
  /// number that has been given again is not late; a block of more is not remembered at all.
  explicit BasicGoneContexts(std::uint32_t numbers) noexcept : most_numbers_(numbers / 4) {}

  /// False for most numbers of which has() is false, among them all that are made of keys. Any thread.
  [[nodiscard]] bool may_have(std::uint32_t number) const noexcept {
    if ((number & weft::detail::kContextByKey) != 0) return false;
    for (std::uint32_t widths = widths_.load(std::memory_order_relaxed); widths != 0; widths &= widths - 1) {
      const Mark mark = mark_of(number, std::countr_zero(widths));
      if ((words_[mark.word].load(std::memory_order_relaxed) & mark.bit) != 0) return true;
    }
    return false;
  }
  /// How often contexts have ended: what is asked of may_have() behind this call is asked about all of them.
  /// Any thread.
  [[nodiscard]] std::uint32_t ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  /// Whether more have since ended() returned this: for a thread that has stored a message in between. Where
  /// not, a thread that has called add(), and then a barrier in all threads, sees the message.
  [[nodiscard]] bool has_ended_more(std::uint32_t ended) const noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return ended_.load(std::memory_order_relaxed) != ended;
  }

  // One thread at a time.
  void add(ContextNumbers numbers) noexcept;
  [[nodiscard]] bool has(std::uint32_t number) const noexcept {
    for (std::uint32_t index = 0; index < count_; ++index)
      if (const ContextNumbers& each = block(index); number - each.first < each.count) return true;
    return false;
  }

 private:
  // Few marks of those that are remembered, and of as many that are forgotten, fall on those of others.
  static constexpr std::uint32_t kWords = kRemembered;
  using Words = std::array<std::uint64_t, kWords>;
  struct Mark {
    std::size_t word;
    std::uint64_t bit;
  };

  /// The mark of the block of 2^width numbers in which a number lies.
  [[nodiscard]] static Mark mark_of(std::uint32_t number, int width) noexcept {
    const std::uint64_t block = std::uint64_t{number >> width} << 5 | static_cast<unsigned>(width);
    const std::uint64_t spread = block * 0x9e3779b97f4a7c15;
    return {(spread >> 40) % kWords, std::uint64_t{1} << (spread >> 58)};
  }
  [[nodiscard]] static int width_of(ContextNumbers numbers) noexcept {
    return std::bit_width(numbers.count - 1);
  }
  /// Calls each(mark) for the marks of a block: one, unless its first number is no multiple of its size.
  template <class Each>
  static void for_marks_of(ContextNumbers numbers, const Each& each) noexcept {
    const int width = width_of(numbers);
    each(mark_of(numbers.first, width));
    each(mark_of(numbers.first + (numbers.count - 1), width));
  }
  /// Those that are remembered, the oldest first.
  [[nodiscard]] const ContextNumbers& block(std::uint32_t index) const noexcept {
    return blocks_[(next_ + kRemembered - count_ + index) % kRemembered];
  }
  void mark_anew() noexcept;

  const std::uint32_t most_numbers_;
  // Marks, also of some blocks that are forgotten; and a bit for each width that a block has had.
  std::array<Atomic<std::uint64_t>, kWords> words_{};
  Atomic<std::uint32_t> widths_{0};
  Atomic<std::uint32_t> ended_{0};
  // Of add() and has():
  std::array<ContextNumbers, kRemembered> blocks_{};  // a ring
  std::uint32_t next_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t numbers_ = 0;  // in the blocks that are remembered
  std::uint32_t added_ = 0;
};

using GoneContexts = BasicGoneContexts<>;

template <template <class> class Atomic, std::uint32_t kRemembered>
void BasicGoneContexts<Atomic, kRemembered>::add(ContextNumbers numbers) noexcept {
  const auto forget_oldest = [this] {
    numbers_ -= block(0).count;
    --count_;
  };
  if (numbers.count > most_numbers_) return;
  while (count_ == kRemembered || (count_ != 0 && numbers_ + numbers.count > most_numbers_)) forget_oldest();
  blocks_[next_] = numbers;
  next_ = (next_ + 1) % kRemembered;
  ++count_;
  numbers_ += numbers.count;
  for_marks_of(numbers, [this](const Mark& mark) {
    Atomic<std::uint64_t>& word = words_[mark.word];
    word.store(word.load(std::memory_order_relaxed) | mark.bit, std::memory_order_relaxed);
  });
  widths_.store(widths_.load(std::memory_order_relaxed) | 1U << width_of(numbers), std::memory_order_relaxed);
  if (++added_ % kRemembered == 0) mark_anew();
  // Pairs with the acquire in ended().
  ended_.store(added_, std::memory_order_release);
}

/// Takes the marks of those that are forgotten away. The others never lack one meanwhile.
template <template <class> class Atomic, std::uint32_t kRemembered>
void BasicGoneContexts<Atomic, kRemembered>::mark_anew() noexcept {
  Words words{};
  std::uint32_t widths = 0;
  for (std::uint32_t index = 0; index < count_; ++index) {
    widths |= 1U << width_of(block(index));
    for_marks_of(block(index), [&](const Mark& mark) { words[mark.word] |= mark.bit; });
  }
  for (std::size_t word = 0; word < words.size(); ++word)
    words_[word].store(words[word], std::memory_order_relaxed);
  widths_.store(widths, std::memory_order_relaxed);
}

}  // namespace weft::core
