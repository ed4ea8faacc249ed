// All kinds of collectives: a row each. A new one is a header in kinds/, an enumerator, and its row here.
#pragma once

#include "collective/kinds/allgather.hpp"
#include "collective/kinds/allreduce.hpp"
#include "collective/kinds/alltoall.hpp"
#include "collective/kinds/barrier.hpp"
#include "collective/kinds/broadcast.hpp"
#include "collective/kinds/gather_to_root.hpp"
#include "collective/kinds/neighbor.hpp"
#include "collective/kinds/reduce.hpp"
#include "collective/kinds/reduce_scatter.hpp"
#include "collective/kinds/scan.hpp"
#include "collective/kinds/scatter_from_root.hpp"

#include <array>
#include <cstddef>

namespace weft::collective {

template <class... Each>
struct KindList {
  static constexpr std::array<KindTraits, sizeof...(Each)> kTraits{Each::kTraits...};
  static constexpr std::array kInOrder{Each::kKind...};

  /// Calls use(Kind()) for the type of this kind.
  template <class Use>
  static void with(detail::CollectiveKind kind, const Use& use) {
    static_cast<void>(((kind == Each::kKind && (use(Each()), true)) || ...));
  }
};

/// In the order of the enumerators.
using Kinds = KindList<Barrier, Broadcast, Reduce, Allreduce, Gather, Scatter, Allgather, Alltoall,
                       ReduceScatter, InclusiveScan, ExclusiveScan, NeighborAllgather, NeighborAlltoall>;

static_assert(
    [] {
      for (std::size_t index = 0; index < Kinds::kInOrder.size(); ++index)
        if (static_cast<std::size_t>(Kinds::kInOrder[index]) != index) return false;
      return true;
    }(),
    "rows are in the order of the enumerators");
static_assert(Kinds::kTraits.size() <= 16, "signatures have 4 bits for the kind");

[[nodiscard]] constexpr const KindTraits& traits_of(detail::CollectiveKind kind) noexcept {
  return Kinds::kTraits[static_cast<std::size_t>(kind)];
}

/// The bytes that all ranks of a collective have in common, where there are such.
[[nodiscard]] constexpr std::size_t length_of(const detail::CollectiveCall& call) noexcept {
  return (traits_of(call.kind).length == Length::of_to ? call.to_count : call.count) * call.reduction.element;
}

template <class Steps>
void lay_out(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
  Kinds::with(call.kind, [&](auto kind) { decltype(kind)::lay_out(steps, call, rank, size); });
}

}  // namespace weft::collective
