// Which collectives a communicator's member has called: a hash over all of them, in their order, and the last
// ones. No message and a few instructions a call; compared when the library ends (roll_call/histories.hpp).
#pragma once

#include "bindings/mpi/objects/current_call.hpp"

#include <cstdint>
#include <string_view>

namespace weft::mpi {

/// Tells collectives apart by their names. Large-count forms are the same call.
constexpr std::uint32_t number_of_kind(std::string_view call) noexcept {
  if (call.ends_with("_c")) call.remove_suffix(2);
  std::uint32_t number = 2166136261U;
  for (const char letter : call) number = (number ^ static_cast<unsigned char>(letter)) * 16777619U;
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
    std::uint64_t hash = 0;      // over all calls up to this one
    std::uint64_t function = 0;  // of an operation of the program: which one, in ranks that run the same
    std::int32_t root = kNoRoot;
    std::int16_t operation = 0;  // 0: it has none
    Values values = Values::integers;
  };
  static constexpr std::uint64_t kKept = 16;
  /// Of calls further back the hash is kept behind each block of them, whose length doubles as there are
  /// more.
  static constexpr std::uint64_t kBlocks = 32, kFirstBlock = 16;

  /// The current call, which is a collective of `kind`. `said`: what else of it all members say alike.
  void note(std::uint32_t kind, std::uint32_t said, int root, int operation, Values values,
            std::uint64_t function = 0) noexcept {
    hash_ = (hash_ ^ (std::uint64_t{said} << 32 | kind)) * 0x9e3779b97f4a7c15;
    hash_ ^= hash_ >> 29;
    if (function != 0) functions_ = (functions_ ^ function ^ count_ << 32) * 0x9e3779b97f4a7c15;
    calls_[count_++ % kKept] = {
        current_call, current_caller, hash_, function, root, static_cast<std::int16_t>(operation), values};
    if ((count_ & (block_ - 1)) == 0) [[unlikely]]
      end_block();
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  /// Over the functions of operations of the program.
  [[nodiscard]] std::uint64_t functions() const noexcept { return functions_; }
  /// How many calls a block has, and the hash behind block `index`, from 0; of those that are whole.
  [[nodiscard]] std::uint64_t block() const noexcept { return block_; }
  [[nodiscard]] std::uint64_t hash_behind(std::uint64_t index) const noexcept { return behind_[index]; }
  /// Call `number`, from 1; one of the last kKept.
  [[nodiscard]] const Call& call(std::uint64_t number) const noexcept { return calls_[(number - 1) % kKept]; }

 private:
  void end_block() noexcept {
    behind_[count_ / block_ - 1] = hash_;
    if (count_ / block_ < kBlocks) return;
    for (std::uint64_t index = 0; index < kBlocks / 2; ++index) behind_[index] = behind_[2 * index + 1];
    block_ *= 2;
  }

  std::uint64_t count_ = 0, hash_ = 0, functions_ = 0, block_ = kFirstBlock;
  Call calls_[kKept];
  std::uint64_t behind_[kBlocks] = {};
};

}  // namespace weft::mpi
