// Whether what members send each other in a collective with lists of counts is what they await, with the
// attribute mpi_check: amounts, also where one of both is 0, and basic datatypes.
#pragma once

#include "bindings/mpi/objects/numbers.hpp"
#include "bindings/mpi/roll_call/roll_call.hpp"

#include <vector>

namespace weft::mpi {

/// A block for each member or edge: a list of counts or one for all, and the same of datatypes.
struct BlockList {
  MPI_Count count = 0;
  Numbers counts{};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const MPI_Datatype* types = nullptr;

  [[nodiscard]] Amount of(int index) const;
};

/// What goes to a member, or comes from it; `tag_offset` tells several apart.
struct BlockOfMember {
  int member = 0, tag_offset = 0;
  Amount amount;
};
/// Compares them as soon as the others say theirs. Ends the job where they differ. `of` is the channel of the
/// collective.
[[gnu::cold]] void compare_blocks(const Channel& of, bool is_of_neighbours, std::vector<BlockOfMember> sent,
                                  std::vector<BlockOfMember> awaited);

enum class Shape { all_to_all, gather, scatter };
/// The same for a collective of this shape within one group; others are not looked at.
[[gnu::cold]] void compare_lists(const Channel& of, Shape shape, int root, const BlockList& sent,
                                 const BlockList& awaited);

}  // namespace weft::mpi
