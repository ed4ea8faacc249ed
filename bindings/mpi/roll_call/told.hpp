// What members of a communicator tell each other of their collectives, and how they differ.
#pragma once

#include "bindings/mpi/call_history/call_history.hpp"

#include <cstdint>
#include <string>

namespace weft::mpi {

/// Travels as it is. Addresses of callers and functions are offsets in the program's image.
struct Told {
  struct Call {
    std::uint64_t hash = 0, function = 0, caller = 0;
    char what[104] = {};
  };
  std::uint64_t count = 0, hash = 0, functions = 0, image = 0, block = CallHistory::kFirstBlock;
  std::uint64_t behind[CallHistory::kBlocks] = {};  // the hashes behind each block
  Call calls[CallHistory::kKept];

  [[nodiscard]] const Call& call(std::uint64_t number) const noexcept {
    return calls[(number - 1) % CallHistory::kKept];
  }
  [[nodiscard]] std::uint64_t oldest() const noexcept {
    return count > CallHistory::kKept ? count - CallHistory::kKept + 1 : 1;
  }
};

/// What another process has sent may be anything.
void make_valid(Told& told) noexcept;

[[nodiscard]] bool are_different(const Told& one, const Told& other) noexcept;

/// How this rank's calls and others differ, which do. `others`: "rank 1 calls".
[[nodiscard]] std::string different_call(const Told& mine, const Told& theirs, const std::string& others);

}  // namespace weft::mpi
