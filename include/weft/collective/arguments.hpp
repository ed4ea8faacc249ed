// Collectives whose arguments are known at run time only.
#pragma once

#include <weft/collective/call.hpp>
#include <weft/collective/operators.hpp>

#include <cstddef>
#include <span>

namespace weft {

using detail::CollectiveKind;

/// The arguments of any collective, for layers in C or of other interfaces: those of the call of that name of
/// Collective, whose `from` and `to` they are. Counts and displacements are numbers of elements of
/// `element_size` bytes. A broadcast has its buffer in `to`.
struct CollectiveArguments {
  CollectiveKind kind = CollectiveKind::barrier;
  int root = 0;
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t element_size = 1;  ///< bytes, 1 to 2^30; of reductions: that of the reduction
  std::size_t count = 0;         ///< elements of `from`, of all blocks and what lies between them
  std::size_t to_count = 0;      ///< elements of `to`
  /// Needed by reductions and prefix reductions; copied.
  const AnyReduction* reduction = nullptr;
  /// All ranks give counts of blocks, or none does: then blocks have the same length and follow each other.
  bool has_counts = false;
  std::span<const std::size_t> from_counts{};
  std::span<const std::size_t> to_counts{};
  /// Where each block begins; empty: behind the one before it. Only with counts, as many; blocks of `to` do
  /// not overlap.
  std::span<const std::size_t> from_displacements{};
  std::span<const std::size_t> to_displacements{};
  /// Of exchanges with neighbours: their ranks.
  std::span<const int> sources{};
  std::span<const int> destinations{};
};

namespace detail {

/// Throws weft::Error for arguments that are wrong whatever the team.
[[nodiscard]] WEFT_API CollectiveCall call_of(const CollectiveArguments& arguments);

}  // namespace detail
}  // namespace weft
