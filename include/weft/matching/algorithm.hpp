// Matching algorithms of the user's own, for ordered matching engines.
#pragma once

#include <weft/detail/language.hpp>

#include <cstdint>
#include <limits>

namespace weft {

/// What a message is matched by.
struct MatchEnvelope {
  int source = 0;         ///< the sender's rank
  std::uint64_t tag = 0;  ///< the sender's tag
};

/// What a receive, or a probe, accepts. Either may be a wildcard: any_source, any_tag (options.hpp).
struct MatchPattern {
  int source = 0;
  std::uint64_t tag = 0;
  std::uint64_t tag_mask = ~std::uint64_t{0};  ///< bits of the tag that count; ignored for any_tag

  [[nodiscard]] constexpr bool accepts_any_source() const noexcept { return source == -1; }
  [[nodiscard]] constexpr bool accepts_any_tag() const noexcept { return tag == ~std::uint64_t{0}; }
  /// False when the pattern is met by one source and tag only.
  [[nodiscard]] constexpr bool has_wildcard() const noexcept {
    return accepts_any_source() || accepts_any_tag() || tag_mask != ~std::uint64_t{0};
  }
  [[nodiscard]] constexpr bool accepts(const MatchEnvelope& message) const noexcept {
    return (source == message.source || accepts_any_source()) &&
           (((tag ^ message.tag) & tag_mask) == 0 || accepts_any_tag());
  }
};

/// Decides which receive a message matches, in place of the table of an ordered engine
/// (MatchingEngineOptions::algorithm). Everything else stays with the engine: the records of receives and
/// messages, the order in which messages of a sender arrive, credits, cancelling, diagnosis.
///
/// The semantics are MPI's: a message takes the receive that was posted first among those that accept it; a
/// receive takes the message that arrived first among those it accepts.
///
/// The engine calls every function under its lock, in the order in which things happen; they need no lock of
/// their own, and must neither block, allocate, nor use weft. Items are named by small numbers, so that an
/// algorithm keeps what it wants to know of them in arrays of its own, which reserve() sizes. An item is in
/// one list at a time, and its number may be used again once it has been taken or removed.
///
/// See W. Schonbein et al., "Measuring Multithreaded Message Matching Misery" (Euro-Par 2018), for what
/// search depth costs, and docs/guide/matching.md for the algorithms of the study, which are written against
/// this.
class MatchingAlgorithm {
 public:
  using Item = std::uint32_t;
  static constexpr Item kNone = std::numeric_limits<Item>::max();

  /// The result of a search.
  struct Found {
    Item item = kNone;        ///< kNone: nothing fits
    std::uint32_t depth = 0;  ///< entries that the search has compared, the one found included
  };

  MatchingAlgorithm() = default;
  MatchingAlgorithm(const MatchingAlgorithm&) = delete;
  MatchingAlgorithm& operator=(const MatchingAlgorithm&) = delete;
  virtual ~MatchingAlgorithm() = default;

  /// Called once, when the engine opens and before everything else: items are numbered below `items`, sources
  /// are below `ranks`. May allocate, and throw.
  virtual void reserve(Item items, int ranks) = 0;

  /// A message has arrived: removes and returns the first posted receive that accepts it.
  [[nodiscard]] virtual Found take_receive(const MatchEnvelope& message) noexcept = 0;
  /// The message was not accepted by any receive, and waits from now on.
  virtual void add_message(Item message, const MatchEnvelope& envelope) noexcept = 0;

  /// A receive is posted: removes and returns the first waiting message that it accepts.
  [[nodiscard]] virtual Found take_message(const MatchPattern& receive) noexcept = 0;
  /// No message fits the receive, which waits from now on.
  virtual void add_receive(Item receive, const MatchPattern& pattern) noexcept = 0;

  /// The first waiting message that a receive would take; it stays. For probes.
  [[nodiscard]] virtual Found find_message(const MatchPattern& receive) const noexcept = 0;
  /// Removes a receive that waits: it was cancelled, or can never be matched.
  virtual void remove_receive(Item receive) noexcept = 0;
  /// Removes a message that waits: a matched probe has taken it, or its sender has failed.
  virtual void remove_message(Item message) noexcept = 0;
};

}  // namespace weft
