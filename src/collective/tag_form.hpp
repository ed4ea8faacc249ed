// The tags of a Collective's messages.
#pragma once

#include <weft/matching/context.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace weft::collective {

/// Tags: number of the run | signature of the call | segment | step, from the highest bit on. Runs are
/// numbered in the order of their starts, which is the same on all ranks. They take the 32 bits below the
/// number of a matching context.
class TagForm {
 public:
  /// In a matching context: teams of more ranks have longer algorithms, and numbers of runs of fewer bits.
  TagForm(const MatchingContext& context, int ranks) noexcept
      : base_(std::uint64_t{context.number()} << 32),
        engine_(context.engine()),
        step_bits_(static_cast<std::uint32_t>(std::bit_width(2 * static_cast<unsigned>(ranks) + kReserved))),
        segment_bits_(4),
        run_bits_(step_bits_ < 20 - kFewest ? 20 - step_bits_ : kFewest) {
    if (step_bits_ > 20 - kFewest) step_bits_ = 20 - kFewest;
  }

  [[nodiscard]] std::uint16_t engine() const noexcept { return engine_; }
  [[nodiscard]] std::uint64_t of(std::uint64_t number, std::uint32_t signature) const noexcept {
    const std::uint64_t run = number & ((std::uint64_t{1} << run_bits_) - 1);
    return base_ | (run << 8 | (signature & 0xff)) << (step_bits_ + segment_bits_);
  }
  /// Segment and step of a message, to be added to of(). Between two ranks the steps of the longest
  /// algorithms follow each other, and may wrap around.
  [[nodiscard]] std::uint64_t step_tag(std::uint64_t segment, std::uint32_t step) const noexcept {
    return segment << step_bits_ | step % ((1U << step_bits_) - kReserved);
  }
  /// Of the messages, in two phases, that connect the members on a host.
  [[nodiscard]] std::uint64_t connect(std::uint32_t phase) const noexcept {
    return std::uint64_t{phase} << step_bits_ | ((1U << step_bits_) - 4);
  }
  // Steps that no algorithm has: of guards, of the watch over posted runs, and of notes.
  [[nodiscard]] std::uint32_t guard() const noexcept { return (1U << step_bits_) - 1; }
  [[nodiscard]] std::uint64_t watch() const noexcept { return base_ | ((1U << step_bits_) - 2); }
  [[nodiscard]] std::uint64_t notes() const noexcept { return base_ | ((1U << step_bits_) - 3); }
  /// The runs that may be under way at a time, so that their numbers differ.
  [[nodiscard]] std::size_t most_runs() const noexcept { return std::size_t{1} << (run_bits_ - 1); }

 private:
  static constexpr std::uint32_t kReserved = 4;
  static constexpr std::uint32_t kFewest = 6;  // bits of the numbers of runs
  std::uint64_t base_;
  std::uint16_t engine_;
  std::uint32_t step_bits_;
  std::uint32_t segment_bits_;
  std::uint32_t run_bits_;
};

}  // namespace weft::collective
