// The algorithms of collectives, and when each is chosen.
#pragma once

#include <weft/detail/export.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace weft {

/// A row of the table of algorithms. The first row of a collective that fits a call is chosen; the attribute
/// `collectives` names another one (allreduce=ring), which is taken wherever it is possible.
struct CollectiveAlgorithm {
  std::string_view collective{};    ///< "allreduce"
  std::string_view name{};          ///< "ring"
  std::size_t most_bytes = 0;       ///< of a call; 0: any
  int least_members = 0;            ///< of a team
  int most_members = 0;             ///< of a team; 0: any
  bool needs_hosts = false;         ///< only for teams of several hosts, some of which have several members
  bool needs_equal_blocks = false;  ///< not where blocks have counts
  bool is_commutative = false;      ///< not for reductions in the order of ranks
  std::string_view rounds{};        ///< of n members: "log2 n"
};

/// The table: rows of one collective follow each other, in the order in which they are tried.
[[nodiscard]] WEFT_API std::span<const CollectiveAlgorithm> collective_algorithms() noexcept;

}  // namespace weft
