// What the kinds of collectives have in common: the steps that they consist of, and their traits.
//
// `Steps` offers: send(peer, bytes, step) and receive(peer, buffer, step, early), which run at the same time
// until join(); compute(to, a, b, elements) and copy(to, from, bytes), which run after all earlier steps;
// scratch(bytes); receive_part(peer, bytes, step), which is scratch() and an early receive into it;
// begin_segment(), after which steps do not wait for those of earlier segments; algorithm(), which was chosen
// from the table, and hosts(), those of the members. An early receive waits for no other step: no step uses
// its buffer before the message has arrived. Between two ranks a step has one message of a segment.
#pragma once

#include <weft/collective.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft::collective {

/// The algorithms that collectives have (algorithm_table.hpp).
enum class Algorithm : std::uint8_t {
  any,
  dissemination,
  binomial,
  doubling,
  ring,
  direct,
  pairwise,
  bruck,
  two_level,
};

/// The buffer whose length a collective has on all ranks.
enum class Length : std::uint8_t { none, of_from, of_to };

/// What a kind of collective says of itself; and its functions:
///
///   static void check(const detail::CollectiveCall&, int rank, int size);   throws weft::Error
///   template <class Steps> static void lay_out(Steps&, const detail::CollectiveCall&, int rank, int size);
struct KindTraits {
  std::string_view name;
  bool has_root = false;
  bool reduces = false;
  /// The bytes that all ranks have in common, unless blocks differ, and that are compared.
  Length length = Length::of_from;
  /// No rank ends it before all have begun it: short ones whose callers wait go by the mailbox.
  bool meets_all = false;
  bool has_neighbors = false;
  /// Long ones are laid out as a graph, in segments, also for a caller who waits.
  bool has_segments = false;
};

// Up to this size algorithms are chosen for latency, beyond it for throughput.
inline constexpr std::size_t kAtOnceBytes = 32 << 10;
inline constexpr std::size_t kSegmentBytes = 128 << 10;
inline constexpr std::size_t kSegments = 16;  // at most, which limits the operations under way
// Messages of one rank under way at the same time, where it exchanges with all others directly.
inline constexpr int kPartners = 16;

/// Calls `segment(first, elements)` for parts of about the same length; once for an empty buffer.
template <class Segment>
void for_each_segment(const detail::CollectiveCall& call, const Segment& segment) {
  const std::size_t bytes = call.count * call.reduction.element;
  const std::size_t count = std::clamp(bytes / kSegmentBytes, std::size_t{1}, kSegments);
  for (std::size_t number = 0; number < count; ++number) {
    const std::size_t first = call.count * number / count;
    segment(first, call.count * (number + 1) / count - first);
  }
}

}  // namespace weft::collective
