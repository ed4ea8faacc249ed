// Which collectives a communicator's member has called: a hash over all of them, in their order, and the last
// ones. No message and a few instructions a call; compared when the library ends (roll_call/histories.hpp).
#pragma once

#include "bindings/mpi/objects/current_call.hpp"

#include <cstdint>
#include <string_view>

namespace weft::mpi {

/// Tells collectives apart by their names. Large-count forms are the same call, and those with lists of
/// counts (MPI_Gatherv) count as those without: their messages are the same, so that nobody's program fails
/// by it.
constexpr std::uint32_t number_of_kind(std::string_view call) noexcept {
  if (call.ends_with("_c")) call.remove_suffix(2);
  std::uint32_t number = 2166136261U;
  for (const char letter : call)
    if (letter != 'v' && letter != 'w') number = (number ^ static_cast<unsigned char>(letter)) * 16777619U;
  return number;
}

class CallHistory {
 public:
  static constexpr int kNoRoot = -1;  // no rank, and neither MPI_ROOT nor MPI_PROC_NULL
  /// What a reduction combines: other elements count as integers.
  enum class Values : std::uint8_t { integers, floating_point, complex };
  /// What is kept of a call.
  struct Call {
    const char* name = "";
    const void* caller = nullptr;
    std::uint64_t hash = 0;  // over all calls up to this one
    std::int32_t root = kNoRoot;
    std::int16_t operation = 0;  // 0: it has none
    Values values = Values::integers;
  };
  static constexpr std::uint64_t kKept = 16;

  /// The current call, which is a collective of `kind`. `said`: what else of it all members say alike.
  void note(std::uint32_t kind, std::uint32_t said, int root, int operation, Values values) noexcept {
    hash_ = (hash_ ^ (std::uint64_t{said} << 32 | kind)) * 0x9e3779b97f4a7c15;
    hash_ ^= hash_ >> 29;
    calls_[count_++ % kKept] = {
        current_call, current_caller, hash_, root, static_cast<std::int16_t>(operation), values};
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  /// Call `number`, from 1; one of the last kKept.
  [[nodiscard]] const Call& call(std::uint64_t number) const noexcept { return calls_[(number - 1) % kKept]; }

 private:
  std::uint64_t count_ = 0, hash_ = 0;
  Call calls_[kKept];
};

}  // namespace weft::mpi
