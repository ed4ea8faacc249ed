// The agreed contexts that have ended here last: what arrives in them is dropped, and its sender has the
// credit back. An agreed number is given again only after very many others, so a message in it comes late.
#pragma once

#include <weft/options.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::core {

class GoneContexts {
 public:
  /// Contexts that are remembered at least; of older ones late messages wait as others do.
  static constexpr std::uint32_t kRemembered = 1024;

  /// False for most numbers of which has() is false. Any thread.
  [[nodiscard]] bool may_have(std::uint32_t number) const noexcept {
    return (words_[word_of(number)].load(std::memory_order_relaxed) & bit_of(number)) != 0;
  }

  // One thread at a time.
  void add(ContextNumbers numbers) noexcept;
  /// The numbers are in use again.
  void remove(ContextNumbers numbers) noexcept;
  [[nodiscard]] bool has(std::uint32_t number) const noexcept;

 private:
  static constexpr std::uint32_t kWords = 256;
  static constexpr std::uint32_t kBits = kWords * 64;
  static std::size_t word_of(std::uint32_t number) noexcept { return number / 64 % kWords; }
  static std::uint64_t bit_of(std::uint32_t number) noexcept { return std::uint64_t{1} << number % 64; }
  void mark(ContextNumbers numbers) noexcept;

  std::array<std::atomic<std::uint64_t>, kWords>
      words_{};                                         // numbers modulo kBits, also of some forgotten ones
  std::array<ContextNumbers, kRemembered> contexts_{};  // a ring; a count of 0: none
  std::uint32_t added_ = 0;
};

}  // namespace weft::core
