// The arguments of collectives, as the library takes them, made of buffers of any element type.
#pragma once

#include <weft/bytes.hpp>
#include <weft/collective/operators.hpp>
#include <weft/detail/export.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <type_traits>

namespace weft::detail {

enum class CollectiveKind : std::uint8_t {
  barrier,
  broadcast,
  reduce,
  allreduce,
  gather,
  scatter,
  allgather,
  alltoall,
  reduce_scatter,
  inclusive_scan,
  exclusive_scan,
  neighbor_allgather,
  neighbor_alltoall,
};

/// The arguments of a collective.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::barrier;
  int root = 0;
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::size_t count = 0;         // elements of from
  std::size_t to_count = 0;      // elements
  Reduction reduction{};         // element is always set
  std::source_location where{};  // of the program's call; line 0: unknown
  // Of collectives with a block for each rank: elements of each; empty: all blocks have the same.
  std::span<const std::size_t> from_counts{};
  std::span<const std::size_t> to_counts{};
  bool blocks_differ = false;  // counts are given, if not on this rank then on others
  // Where the blocks begin, in elements; empty: one after another.
  std::span<const std::size_t> from_displacements{};
  std::span<const std::size_t> to_displacements{};
  // Of exchanges with neighbours.
  std::span<const int> sources{};
  std::span<const int> destinations{};
};

/// The elements of a range, or a variable as a range of one.
template <class Values>
[[nodiscard]] auto elements_of(Values& values) noexcept {
  if constexpr (requires { std::span{values}; })
    return std::span{values};
  else
    return std::span<Values, 1>(&values, 1);
}

/// Checks a buffer that an operation borrows beyond the call that makes it.
template <class Range>
consteval void check_lasts() {
  static_assert(
      std::is_lvalue_reference_v<Range> || std::ranges::enable_borrowed_range<std::remove_cvref_t<Range>>,
      "weft: the operation uses its buffers whenever it is started, and a temporary is gone by then: "
      "give it a name");
}

/// A call with these buffers.
template <class From, std::size_t FromExtent, class T, std::size_t Extent>
[[nodiscard]] CollectiveCall call_of(CollectiveKind kind, std::span<From, FromExtent> from,
                                     std::span<T, Extent> to, int root = 0) {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 16,
                "elements are trivially copyable and aligned to at most 16 bytes");
  check_bytes<T>();
  static_assert(std::is_same_v<std::remove_const_t<From>, T>, "both buffers have elements of one type");
  CollectiveCall call{.kind = kind,
                      .root = root,
                      .from = reinterpret_cast<const std::byte*>(from.data()),
                      .to = reinterpret_cast<std::byte*>(to.data()),
                      .count = from.size(),
                      .to_count = to.size()};
  call.reduction.element = sizeof(T);
  return call;
}

[[nodiscard]] WEFT_API CollectiveCall any_reduce_call(CollectiveKind kind, Bytes from, MutableBytes to,
                                                      const AnyReduction& reduction, int root);

/// A call that reduces.
template <class From, std::size_t FromExtent, class T, std::size_t Extent, class Op>
[[nodiscard]] CollectiveCall reduce_call(CollectiveKind kind, std::span<From, FromExtent> from,
                                         std::span<T, Extent> to, const Op& op, int root = 0) {
  if constexpr (std::is_same_v<Op, AnyReduction>) {
    return any_reduce_call(kind, std::as_bytes(from), std::as_writable_bytes(to), op, root);
  } else {
    CollectiveCall call = call_of(kind, from, to, root);
    call.reduction = reduction_of<T>(op);
    return call;
  }
}

}  // namespace weft::detail
