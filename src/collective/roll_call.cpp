#include "collective/roll_call.hpp"

#include "collective/kind_table.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

namespace weft::collective {

namespace {

constexpr std::string_view kOperators[] = {"",    "sum",         "product",    "min",
                                           "max", "bitwise and", "bitwise or", "bitwise xor"};
constexpr std::string_view kElements[] = {"", "floating point", "signed integers", "unsigned integers"};

void set_file(CalledCollective& called, std::string_view name) noexcept {
  // The end of a path says more than its beginning.
  if (name.size() >= sizeof called.file) name.remove_prefix(name.size() - sizeof called.file + 1);
  std::memcpy(called.file, name.data(), name.size());
  called.file[name.size()] = '\0';
}

bool is_valid(const CalledCollective& called) noexcept {
  return static_cast<std::size_t>(called.kind) < Kinds::kTraits.size() &&
         static_cast<std::size_t>(called.known) < std::size(kOperators) &&
         static_cast<std::size_t>(called.element_kind) < std::size(kElements) &&
         std::memchr(called.file, 0, sizeof called.file) != nullptr;
}

}  // namespace

std::uint32_t signature_of(const detail::CollectiveCall& call) noexcept {
  const KindTraits& traits = traits_of(call.kind);
  std::uint32_t more = 0;
  if (traits.has_root) more = static_cast<std::uint32_t>(call.root);
  if (traits.reduces)
    more ^= static_cast<std::uint32_t>(call.reduction.known) |
            static_cast<std::uint32_t>(call.reduction.kind) << 3 |
            static_cast<std::uint32_t>(std::bit_width(call.reduction.element)) << 5;
  if (call.blocks_differ) more ^= 0x80;
  return static_cast<std::uint32_t>(call.kind) | (more & 0xff) << 4;
}

std::string CalledCollective::text(bool with_place) const {
  const KindTraits& traits = traits_of(kind);
  std::string text(traits.name);
  if (kind != detail::CollectiveKind::barrier) {
    if (blocks_differ != 0) text += " of blocks that differ,";
    text += " of " + std::to_string(bytes) + " bytes";
    if (traits.reduces) {
      text += " (";
      if (known == detail::KnownOperator::none)
        text += "an operator of the program";
      else
        text += kOperators[static_cast<std::size_t>(known)];
      if (element_kind != detail::ElementKind::other)
        text += " of " + std::string(kElements[static_cast<std::size_t>(element_kind)]);
      text += ", " + std::to_string(element) + " bytes each)";
    }
    if (traits.has_root) text += ", root " + std::to_string(root);
  }
  text += ", number " + std::to_string(number + 1) + " of its Collective";
  if (with_place && line != 0) text += ", at " + std::string(file) + ":" + std::to_string(line);
  return text;
}

bool CalledCollective::fits(const CalledCollective& other) const noexcept {
  const KindTraits& traits = traits_of(kind);
  if (kind != other.kind || blocks_differ != other.blocks_differ) return false;
  if (traits.has_root && root != other.root) return false;
  return !traits.reduces ||
         (known == other.known && element_kind == other.element_kind && element == other.element);
}

bool CalledCollective::has_length_of(const CalledCollective& other) const noexcept {
  return bytes == other.bytes || blocks_differ != 0 || traits_of(kind).length == Length::none;
}

void RollCall::begin(std::uint64_t number, const detail::CollectiveCall& call) noexcept {
  Kept& kept = kept_[number % kKept];
  kept.stamp.store(2 * number + 1, std::memory_order_relaxed);
  // Pairs with the acquire fence in called(): who reads a word of this run sees the odd stamp.
  std::atomic_thread_fence(std::memory_order_release);
  kept.bytes.store(length_of(call), std::memory_order_relaxed);
  kept.root_and_element.store(std::uint64_t{static_cast<std::uint32_t>(call.root)} << 32 |
                                  static_cast<std::uint32_t>(call.reduction.element),
                              std::memory_order_relaxed);
  kept.kinds.store(
      static_cast<std::uint64_t>(call.kind) | static_cast<std::uint64_t>(call.reduction.known) << 8 |
          static_cast<std::uint64_t>(call.reduction.kind) << 16 | std::uint64_t{call.blocks_differ} << 24,
      std::memory_order_relaxed);
  kept.where.store(call.where, std::memory_order_relaxed);
  // Pairs with the acquire in called().
  kept.stamp.store(2 * number + 2, std::memory_order_release);
  // A question that comes at this moment may be missed; who has asked asks again.
  if (!has_early_.load(std::memory_order_relaxed)) [[likely]]
    return;
  std::vector<Note> asked;
  {
    const std::lock_guard lock(mutex_);
    const auto is_due = [&](const Note& note) { return note.called[0].number <= number; };
    std::copy_if(early_.begin(), early_.end(), std::back_inserter(asked), is_due);
    std::erase_if(early_, is_due);
    has_early_.store(!early_.empty(), std::memory_order_relaxed);
  }
  for (const Note& note : asked) compare(note);
}

std::optional<CalledCollective> RollCall::called(std::uint64_t number,
                                                 std::source_location* where) const noexcept {
  const Kept& kept = kept_[number % kKept];
  if (kept.stamp.load(std::memory_order_acquire) != 2 * number + 2) return std::nullopt;
  CalledCollective called;
  called.number = number;
  called.bytes = kept.bytes.load(std::memory_order_relaxed);
  const std::uint64_t root_and_element = kept.root_and_element.load(std::memory_order_relaxed);
  called.root = static_cast<std::int32_t>(root_and_element >> 32);
  called.element = static_cast<std::uint32_t>(root_and_element);
  const std::uint64_t kinds = kept.kinds.load(std::memory_order_relaxed);
  called.kind = static_cast<detail::CollectiveKind>(kinds & 0xff);
  called.known = static_cast<detail::KnownOperator>(kinds >> 8 & 0xff);
  called.element_kind = static_cast<detail::ElementKind>(kinds >> 16 & 0xff);
  called.blocks_differ = static_cast<std::uint8_t>(kinds >> 24 & 1);
  const std::source_location place = kept.where.load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (kept.stamp.load(std::memory_order_relaxed) != 2 * number + 2) return std::nullopt;
  called.line = place.line();
  set_file(called, place.file_name());
  if (where != nullptr) *where = place;
  return called;
}

void RollCall::ask(std::uint64_t number, std::span<const int> peers, std::uint32_t asked) noexcept {
  const auto mine = called(number);
  if (!mine) return;
  Note note;
  note.ranks[0] = rank_;
  note.asked = asked;
  note.called[0] = *mine;
  for (const int peer : peers)
    if (peer != rank_) sender_.send_note(peer, std::as_bytes(std::span(&note, 1)));
}

void RollCall::arrive(const Message& message) noexcept {
  Note note;
  if (message.size() != sizeof note) return;
  std::memcpy(static_cast<void*>(&note), message.data(), sizeof note);
  const auto is_rank = [&](int rank) { return rank >= 0 && rank < size_; };
  if (!is_valid(note.called[0]) || !is_valid(note.called[1])) return;
  if (note.kind == Kind::verdict) {
    if (is_rank(note.ranks[0]) && is_rank(note.ranks[1])) conclude(note, false);
    return;
  }
  if (note.kind != Kind::question) return;
  note.ranks[0] = message.peer();
  const std::uint64_t number = note.called[0].number;
  if (kept_[number % kKept].stamp.load(std::memory_order_acquire) >= 2 * number + 2) return compare(note);
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find_if(early_, [&](const Note& each) {
    return each.ranks[0] == note.ranks[0] && each.called[0].number == number;
  });
  if (known != early_.end())
    known->asked = note.asked;
  else if (early_.size() < kMostEarly)
    early_.push_back(note);
  has_early_.store(true, std::memory_order_relaxed);
}

void RollCall::compare(const Note& question) noexcept {
  const CalledCollective& theirs = question.called[0];
  const auto mine = called(theirs.number);
  if (!mine) return;
  const bool has_length = mine->has_length_of(theirs) || question.asked < kAskedForLength;
  if (mine->fits(theirs) && has_length) return;
  Note verdict;
  verdict.kind = Kind::verdict;
  verdict.ranks[0] = rank_;
  verdict.ranks[1] = question.ranks[0];
  verdict.called[0] = *mine;
  verdict.called[1] = theirs;
  conclude(verdict, true);
}

void RollCall::conclude(const Note& verdict, bool tell) noexcept {
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t number = verdict.called[0].number;
    // The first difference of the order breaks all that follows.
    const bool is_kept = verdict_ && !verdict_->called[0].fits(verdict_->called[1]);
    if (is_kept && verdict_->called[0].number <= number) return;
    verdict_ = verdict;
    // Pairs with the acquire in differs().
    first_differing_.store(number, std::memory_order_release);
  }
  if (!tell) return;
  for (int peer = 0; peer < size_; ++peer)
    if (peer != rank_) sender_.send_note(peer, std::as_bytes(std::span(&verdict, 1)));
}

bool RollCall::is_concerned(std::uint64_t number) const noexcept {
  const std::lock_guard lock(mutex_);
  // Ranks whose lengths differ still agree on the order of what follows.
  return verdict_ && (verdict_->called[0].number == number || !verdict_->called[0].fits(verdict_->called[1]));
}

void RollCall::report(std::uint64_t number) const {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    text = "ranks have called different collectives: rank " + std::to_string(verdict_->ranks[0]) + " " +
           verdict_->called[0].text() + "; rank " + std::to_string(verdict_->ranks[1]) + " " +
           verdict_->called[1].text();
  }
  if (const auto mine = called(number)) text += "; this rank waits in " + mine->text();
  throw Error(text + "; all ranks call the same collectives in the same order with the same lengths");
}

}  // namespace weft::collective
