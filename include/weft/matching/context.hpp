// Matching contexts: numbers that keep the messages of libraries, groups and communicators apart.
#pragma once

#include <weft/bytes.hpp>
#include <weft/detail/context_state.hpp>
#include <weft/detail/export.hpp>
#include <weft/options.hpp>
#include <weft/status.hpp>
#include <weft/types.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

class MatchingContext;
class Runtime;

/// A tag in a matching context, as calls take it in the place of a tag: made by MatchingContext::tag(). A
/// light value; it must not be used when the context has been destroyed.
class ContextTag {
 public:
  /// What travels: the number of the context above the tag.
  [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }
  /// The bits of the word that count (ReceiveOptions::tag_mask).
  [[nodiscard]] constexpr std::uint64_t mask() const noexcept { return mask_; }
  [[nodiscard]] constexpr std::uint16_t engine() const noexcept { return engine_; }
  /// Throws weft::Error when the context is of another runtime, or has been destroyed. Called by every post.
  [[gnu::always_inline]] void check(const detail::RuntimeState* runtime) const {
    const auto index =
        static_cast<std::uint32_t>(word_ >> 32) - state_->first.load(std::memory_order_relaxed);
    if (state_->runtime != runtime || index >= state_->count.load(std::memory_order_relaxed)) [[unlikely]]
      refuse(runtime);
  }

 private:
  friend class MatchingContext;
  constexpr ContextTag(const detail::ContextState& state, std::uint64_t word, std::uint64_t mask,
                       std::uint16_t engine) noexcept
      : state_(&state), word_(word), mask_(mask), engine_(engine) {}
  [[noreturn, gnu::cold]] WEFT_API void refuse(const detail::RuntimeState* runtime) const;

  const detail::ContextState* state_;
  std::uint64_t word_;
  std::uint64_t mask_;
  std::uint16_t engine_;
};

namespace detail {

// The options of a call in a matching context, whose engine and bits take the place of theirs.
[[nodiscard, gnu::always_inline]] inline SendOptions in_context(const ContextTag& tag,
                                                                const SendOptions& options) {
  SendOptions given = options;
  given.engine = tag.engine();
  return given;
}
[[nodiscard, gnu::always_inline]] inline ReceiveOptions in_context(const ContextTag& tag,
                                                                   const ReceiveOptions& options) {
  ReceiveOptions given = options;
  given.engine = tag.engine();
  given.tag_mask = tag.mask() & (options.tag_mask | ~std::uint64_t{0} << 32);
  return given;
}

}  // namespace detail

/// A matching context: its messages match only each other, whatever engines and contexts other parts of the
/// program use. Tags have 32 bits. It takes no id of a matching engine; there may be hundreds of thousands.
///
///     weft::MatchingContext context(runtime);                  // all ranks: collective
///     endpoint.post_send(peer, context.tag(7), bytes);
///     endpoint.post_receive(peer, context.tag(7), buffer, {.completion = &done});
///
/// The words of its messages, Message::tag(), have the context above the tag: Message::tag_in_context() is
/// the tag, and has() says whether a message is of this context.
///
/// Numbers of both kinds never collide: those that are made of keys have the highest bit. An agreed number
/// is taken by one member for all, out of numbers that only that member gives; it is given again when all its
/// others have been, so that no late message matches in a new context. Keys are used again as the program
/// does it, as ids of engines are.
///
/// Destruction is local: it cancels the receives that are posted in the context (Outcome::cancelled) and
/// drops the messages that nobody has received; it looks at all receives and messages that wait in contexts.
/// A message that comes later is dropped, where the number is agreed (and not one of a block of more than a
/// quarter of all that a rank gives), and otherwise waits for the next context with the key. No post may name
/// the context meanwhile.
class WEFT_API MatchingContext {
 public:
  /// With a key: local. Otherwise collective over all ranks, by one Runtime::allgather(); ranks make such
  /// contexts in the same order, one thread at a time. Throws weft::Error for a key that is in use here, and
  /// when rank 0 has no numbers left.
  explicit MatchingContext(Runtime& runtime, const MatchingContextOptions& options = {});
  /// Collective over `members`, a list of ranks that is the same on each of them: the first one takes the
  /// number and sends it along a tree. Waits, over `endpoint`, whose device of the same index every member
  /// uses. Throws weft::Error when a member has failed.
  template <class EndpointType>
  MatchingContext(Runtime& runtime, EndpointType& endpoint, std::span<const int> members,
                  const MatchingContextOptions& options = {});
  /// Local: of the numbers that a member has reserved, as they have come to this one.
  [[nodiscard]] static MatchingContext of(Runtime& runtime, ContextNumbers numbers,
                                          const MatchingContextOptions& options = {});
  ~MatchingContext() { free(); }
  MatchingContext(MatchingContext&& other) noexcept : state_(other.state_), is_ordered_(other.is_ordered_) {
    other.state_ = nullptr;
  }
  MatchingContext& operator=(MatchingContext&& other) noexcept {
    if (this != &other) {
      free();
      state_ = other.state_;
      is_ordered_ = other.is_ordered_;
      other.state_ = nullptr;
    }
    return *this;
  }

  /// Takes numbers for contexts of any members, which the program brings to them by its own means; each,
  /// this rank among them, makes its MatchingContext of them, with the same options. They are free again when
  /// this rank destroys its own. Any thread. Throws weft::Error when there are none left.
  [[nodiscard]] static ContextNumbers reserve(Runtime& runtime, std::uint32_t count = 1);
  /// Gives back numbers of which no context will be made.
  static void give_back(Runtime& runtime, ContextNumbers numbers) noexcept;

  /// A tag in the context. Throws weft::Error for one that does not fit into 32 bits, a part that is not
  /// below the options' count, and when the context has been moved to another object.
  [[nodiscard, gnu::always_inline]] ContextTag tag(
      CheckedIndex<std::uint32_t, IndexOf::context_tag> tag) const {
    return {state(), std::uint64_t{first()} << 32 | tag, ~std::uint64_t{0}, state().engine};
  }
  [[nodiscard]] ContextTag tag(CheckedIndex<std::uint32_t, IndexOf::context_tag> tag,
                               std::uint32_t part) const {
    return {state(), std::uint64_t{part_of(part)} << 32 | tag, ~std::uint64_t{0}, state().engine};
  }
  /// Any tag of the context, for receives and probes. Throws weft::Error when the context is unordered: use
  /// MatchingPolicy::rank_only or any there.
  [[nodiscard]] ContextTag any_tag() const {
    if (!is_ordered_) refuse_any_tag();
    return {state(), std::uint64_t{first()} << 32, ~std::uint64_t{0} << 32, state().engine};
  }

  /// The matching engine of the context's messages, and the number that they have above their tags: for
  /// layers that compose options and words themselves.
  [[nodiscard]] std::uint16_t engine() const { return state().engine; }
  [[nodiscard]] std::uint32_t number() const { return first(); }
  [[nodiscard]] std::uint32_t count() const { return state().count.load(std::memory_order_relaxed); }
  [[nodiscard]] MatchOrder order() const noexcept {
    return is_ordered_ ? MatchOrder::ordered : MatchOrder::unordered;
  }
  /// Whether a word, Message::tag() of a send or receive, or ProbedMessage::tag, is of this context.
  [[nodiscard]] bool has(std::uint64_t word) const {
    return static_cast<std::uint32_t>(word >> 32) - first() < count();
  }

 private:
  MatchingContext() noexcept = default;
  [[nodiscard]] const detail::ContextState& state() const {
    if (state_ == nullptr) [[unlikely]]
      refuse_moved();
    return *state_;
  }
  [[nodiscard]] std::uint32_t first() const { return state().first.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t part_of(std::uint32_t part) const {
    if (part >= count()) [[unlikely]]
      refuse_part(part);
    return first() + part;
  }
  void open(Runtime& runtime, ContextNumbers numbers, const MatchingContextOptions& options);
  // An agreement: numbers of no contexts tell the other members that the first one has none left.
  [[nodiscard]] static ContextNumbers reserve_or_none(Runtime& runtime, std::uint32_t count) noexcept;
  void open_agreed(Runtime& runtime, ContextNumbers numbers, const MatchingContextOptions& options,
                   int giver);
  /// The index of this rank in the list, which is checked.
  [[nodiscard]] static std::size_t index_among(Runtime& runtime, std::span<const int> members,
                                               const MatchingContextOptions& options);
  /// The tag of an agreement's messages in the library's own context, and its engine.
  [[nodiscard]] static std::uint64_t agreement_word(Runtime& runtime, const MatchingContextOptions& options);
  [[noreturn]] static void refuse_member(int rank, Outcome outcome);
  [[noreturn]] static void refuse_moved();
  [[noreturn]] void refuse_part(std::uint32_t part) const;
  [[noreturn]] static void refuse_any_tag();
  void free() noexcept;

  detail::ContextState* state_ = nullptr;
  bool is_ordered_ = false;
};

template <class EndpointType>
MatchingContext::MatchingContext(Runtime& runtime, EndpointType& endpoint, std::span<const int> members,
                                 const MatchingContextOptions& options) {
  const std::size_t index = index_among(runtime, members, options);
  const std::uint64_t word = agreement_word(runtime, options);
  const auto device = endpoint.attributes().index;
  ContextNumbers numbers;
  int lost = -1;
  Outcome why = Outcome::ok;
  // Along a binomial tree: from the index without its highest bit, to those with a higher bit in addition.
  std::size_t bit = 1;
  while (bit <= index) bit <<= 1;
  if (index == 0) {
    numbers = reserve_or_none(runtime, options.count);
  } else {
    const int from = members[index - (bit >> 1)];
    std::byte buffer[sizeof numbers];
    const auto got = endpoint.receive(from, word, buffer, {.engine = detail::kOrderedContexts});
    why = got.outcome();
    if (why == Outcome::ok)
      numbers = got.template as<ContextNumbers>();
    else
      lost = from;  // none: the members that hang on this one must not wait for it
  }
  for (; index + bit < members.size(); bit <<= 1) {
    const int to = members[index + bit];
    // The others that hang on this rank get the number even if this one has failed.
    static_cast<void>(
        endpoint.send(to, word, bytes_of(numbers), {.engine = detail::kOrderedContexts, .device = device}));
  }
  if (lost >= 0) refuse_member(lost, why);
  open_agreed(runtime, numbers, options, members.front());
}

}  // namespace weft
