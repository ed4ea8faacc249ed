// What a rank has called in the place of each run.
#pragma once

#include <weft/collective.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>

namespace weft::collective {

/// A collective as a rank has called it, in the form in which ranks tell each other (docs/internals/wire.md).
struct CalledCollective {
  std::uint64_t number = 0;  // of the run, from 0
  std::uint64_t bytes = 0;
  std::int32_t root = 0;
  std::uint32_t element = 1;  // bytes of an element; of reductions only
  std::uint32_t line = 0;     // of the program's call; 0: unknown
  detail::CollectiveKind kind{};
  detail::KnownOperator known{};
  detail::ElementKind element_kind{};
  std::uint8_t blocks_differ = 0;  // each rank has lengths of its own
  std::uint8_t is_ordered = 0;     // the operator is not commutative
  char file[95] = {};              // the end of its name
  // Of exchanges with neighbours: the bit rank % 64 of each rank that it names.
  std::uint64_t sources = 0;
  std::uint64_t destinations = 0;

  /// "allreduce of 80 bytes (sum of floating point, 8 bytes each), number 3 of its Collective, at
  /// solver.cpp:41"
  [[nodiscard]] std::string text(bool with_line = true) const;
  /// The same into memory of the caller, without its end if that does not fit; returns its length.
  static constexpr std::size_t kMostText = 384;
  std::size_t write(std::span<char> to, bool with_line) const noexcept;
  /// Returns true when they may be the same collective: everything but the length is equal.
  [[nodiscard]] bool fits(const CalledCollective& other) const noexcept;
  /// Returns true when the lengths may be those of one collective.
  [[nodiscard]] bool has_length_of(const CalledCollective& other) const noexcept;
  /// Returns true when this call, of the rank `own`, and that of the rank `peer` may both name each other, or
  /// neither. `ranks`: of the team; with more than kExact the peer must be one that has named this rank.
  [[nodiscard]] bool meets(const CalledCollective& other, int own, int peer, int ranks) const noexcept;
  static constexpr int kExact = 64;
  [[nodiscard]] bool names_source(int rank) const noexcept { return (sources >> rank % 64 & 1) != 0; }
  [[nodiscard]] bool names_destination(int rank) const noexcept {
    return (destinations >> rank % 64 & 1) != 0;
  }
  /// Returns false for bytes that no rank of this version has sent.
  [[nodiscard]] bool is_valid() const noexcept;
};
static_assert(std::is_trivially_copyable_v<CalledCollective> && sizeof(CalledCollective) == 144);

/// Returns what all ranks have in common for the same collective, in 8 bits, for tags of messages: those of
/// another collective do not match, but by chance.
[[nodiscard]] std::uint32_t signature_of(const detail::CollectiveCall& call) noexcept;

/// The last calls of a rank: a few words for each run, under sequence locks.
class CallLog {
 public:
  /// Notes the beginning of a run.
  void begin(std::uint64_t number, const detail::CollectiveCall& call) noexcept;
  /// Returns true when the run has begun. Any thread.
  [[nodiscard]] bool has_begun(std::uint64_t number) const noexcept {
    return number < kNumbers && kept_[number % kKept].stamp.load(std::memory_order_acquire) >= 2 * number + 2;
  }
  /// What has been called; empty when that is long ago, or to come. Any thread.
  [[nodiscard]] std::optional<CalledCollective> called(std::uint64_t number,
                                                       std::source_location* where = nullptr) const noexcept;

 private:
  static constexpr std::uint64_t kKept = 64;                        // runs
  static constexpr std::uint64_t kNumbers = ~std::uint64_t{0} / 2;  // stamps hold twice a number
  /// `stamp`: twice the number, plus 1 while the words are written, plus 2 afterwards.
  struct Kept {
    std::atomic<std::uint64_t> stamp{0};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> root_and_element{0};
    std::atomic<std::uint64_t> kinds{0};
    std::atomic<std::uint64_t> sources{0};
    std::atomic<std::uint64_t> destinations{0};
    std::atomic<std::source_location> where{std::source_location{}};
  };
  std::array<Kept, kKept> kept_;
};

}  // namespace weft::collective
