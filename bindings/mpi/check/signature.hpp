// The basic datatypes that a message consists of, as its sender says and its receiver expects.
#pragma once

#include "bindings/mpi/datatypes/datatype.hpp"

#include <array>
#include <string>
#include <utility>

namespace weft::mpi {

/// The first runs of equal basic datatypes in a message. Travels as it is.
struct Signature {
  struct Run {
    std::uint32_t kind = 0;   // Native of the datatype, and its size; 0: any, of MPI_BYTE and MPI_PACKED
    std::uint32_t count = 0;  // the largest number stands for as many or more
  };
  static constexpr std::size_t kRuns = 7;
  std::array<Run, kRuns> runs{};
  std::uint64_t used = 0;
};

[[nodiscard]] Signature signature_of(const Datatype& type, MPI_Count count);

/// What is wrong about receiving a message of a signature into elements of another one: "its elements from
/// number 3 on are double, and int are received"; empty where nothing is.
[[nodiscard]] std::string mismatch(const Signature& sent, const Signature& received);

/// What two signatures have in the same place where they differ: "elements from number 3 on: double"; empty
/// where they do not.
[[nodiscard]] std::pair<std::string, std::string> different_elements(const Signature& one,
                                                                     const Signature& other);

}  // namespace weft::mpi
