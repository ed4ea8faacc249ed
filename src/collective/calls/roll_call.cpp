#include "collective/calls/roll_call.hpp"

#include "collective/kinds/kind_table.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace weft::collective {

namespace {

constexpr const char* kRule = "; all ranks call the same collectives in the same order with the same lengths";

}  // namespace

void RollCall::begin(std::uint64_t number, const detail::CollectiveCall& call) noexcept {
  log_.begin(number, call);
  if (traits_of(call.kind).has_neighbors) [[unlikely]]
    ask_neighbors(number, call);
  // A question that comes at this moment may be missed; who has asked asks again, or the next run finds it.
  if (has_early_.load(std::memory_order_relaxed)) [[unlikely]]
    answer_early(number);
}

void RollCall::answer_early(std::uint64_t number) noexcept {
  std::vector<Note> asked;
  {
    const std::lock_guard lock(mutex_);
    const auto is_due = [&](const Note& note) { return note.called[0].number <= number; };
    std::copy_if(early_.begin(), early_.end(), std::back_inserter(asked), is_due);
    std::erase_if(early_, is_due);
    has_early_.store(!early_.empty(), std::memory_order_relaxed);
  }
  for (const Note& note : asked) answer(note);
  if (!tell_again()) has_early_.store(true, std::memory_order_relaxed);
}

/// Who sends to a rank that expects nothing does not wait, and asks without.
void RollCall::ask_neighbors(std::uint64_t number, const detail::CollectiveCall& call) noexcept {
  std::vector<int> peers;
  {
    const std::lock_guard lock(mutex_);
    const auto asked = neighbors_.begin(call, size_ <= CalledCollective::kExact);
    peers.assign(asked.begin(), asked.end());
  }
  const auto mine = called(number);
  if (peers.empty() || !mine) return;
  Note note;
  note.ranks[0] = rank_;
  note.sent = Note::kAsNeighbor;
  note.called[0] = *mine;
  for (const int peer : peers) {
    if (peer == rank_ || send(peer, note)) continue;
    const std::lock_guard lock(mutex_);
    unsent_notes_.push_back({peer, note});
    has_early_.store(true, std::memory_order_relaxed);
  }
}

bool RollCall::send(int rank, const Note& note) noexcept {
  return sender_.send_note(rank, std::as_bytes(std::span(&note, 1)));
}

void RollCall::ask(std::uint64_t number, std::span<const int> peers, std::uint32_t asked) noexcept {
  const auto mine = called(number);
  if (!mine) return;
  Note note;
  note.ranks[0] = rank_;
  note.asked = asked;
  if (number != connecting_.load(std::memory_order_relaxed)) note.sent = Note::kAsNeighbor;
  note.called[0] = *mine;
  for (const int peer : peers)
    if (peer != rank_) static_cast<void>(send(peer, note));
}

bool RollCall::tell_length(std::uint64_t number, int rank, std::uint64_t sent,
                           std::uint64_t expected) noexcept {
  const auto mine = called(number);
  if (!mine || rank < 0) return true;
  Note note;
  note.kind = Kind::other_length;
  note.ranks[0] = rank_;
  note.ranks[1] = rank;
  note.sent = sent;
  note.expected = expected;
  note.called[0] = *mine;
  return sender_.send_note(rank, std::as_bytes(std::span(&note, 1)));
}

void RollCall::tell_expiry(std::uint64_t number, int rank) noexcept {
  const auto mine = called(number);
  Note verdict;
  verdict.kind = Kind::expired;
  verdict.ranks[0] = rank_;
  verdict.ranks[1] = rank;
  if (mine) verdict.called[0] = *mine;
  verdict.called[0].number = number;
  conclude(verdict, true);
}

void RollCall::arrive(const Message& message) noexcept {
  Note note;
  if (message.size() != sizeof note) return;
  std::memcpy(static_cast<void*>(&note), message.data(), sizeof note);
  const int sender = sender_.rank_of(message.peer());
  const auto is_rank = [&](int rank) { return rank >= 0 && rank < size_; };
  if (sender < 0 || !note.called[0].is_valid() || !note.called[1].is_valid()) return;
  switch (note.kind) {
    case Kind::differing:
    case Kind::lengths:
      if (is_rank(note.ranks[0]) && is_rank(note.ranks[1])) conclude(note, false);
      return;
    case Kind::expired:
      if (is_rank(note.ranks[0]) && note.ranks[1] >= -1 && note.ranks[1] < size_) conclude(note, false);
      return;
    case Kind::question:
    case Kind::other_length:
      break;
    default:
      return;
  }
  note.ranks[0] = sender;
  const std::uint64_t number = note.called[0].number;
  if (log_.has_begun(number)) return answer(note);
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find_if(early_, [&](const Note& each) {
    return each.ranks[0] == note.ranks[0] && each.kind == note.kind && each.called[0].number == number;
  });
  if (known != early_.end())
    known->asked = note.asked;
  else if (early_.size() < kMostEarly)
    early_.push_back(note);
  has_early_.store(true, std::memory_order_relaxed);
}

/// In large teams the lists do not tell neighbors from others, so that only a neighbor's question compares
/// them.
bool RollCall::agrees(const CalledCollective& mine, const Note& question) const noexcept {
  if (!mine.fits(question.called[0])) return false;
  if (size_ > CalledCollective::kExact && !question.asks_as_neighbor()) return true;
  return mine.meets(question.called[0], rank_, question.ranks[0], size_);
}

/// A rank asks what this one has called in the place of a run that has begun here.
void RollCall::answer(const Note& question) noexcept {
  const CalledCollective& theirs = question.called[0];
  const auto mine = called(theirs.number);
  if (!mine) return;
  Note verdict = question;
  verdict.called[1] = *mine;
  verdict.ranks[1] = rank_;
  if (!agrees(*mine, question)) {
    verdict.kind = Kind::differing;
    // As this rank sees it: its own call first.
    std::swap(verdict.called[0], verdict.called[1]);
    std::swap(verdict.ranks[0], verdict.ranks[1]);
    return conclude(verdict, true);
  }
  if (question.kind == Kind::other_length) {
    verdict.kind = Kind::lengths;
    return conclude(verdict, true);
  }
  if (!mine->has_length_of(theirs) && question.asked >= kAskedForLength) {
    verdict.kind = Kind::lengths;
    verdict.sent = mine->bytes;
    verdict.expected = theirs.bytes;
    return conclude(verdict, true);
  }
  // It may have missed what others know.
  std::optional<Note> known;
  {
    const std::lock_guard lock(mutex_);
    if (broken_ && broken_->note.called[0].number <= theirs.number) known = broken_->note;
    for (const Verdict& each : lengths_)
      if (!known && each.note.called[0].number == theirs.number) known = each.note;
  }
  if (known) static_cast<void>(send(question.ranks[0], *known));
}

void RollCall::note_verdict(const Note& verdict) {
  const std::uint64_t number = verdict.called[0].number;
  if (verdict.kind != Kind::lengths) {
    // The first one of the order breaks all that follows.
    if (broken_ && broken_->note.called[0].number <= number) return;
    const bool is_reported = broken_ && broken_->is_reported;
    broken_ = Verdict{verdict, is_reported};
    is_broken_.store(true, std::memory_order_release);
  } else {
    const auto is_same = [&](const Verdict& each) {
      return each.note.called[0].number == number && each.note.ranks[0] == verdict.ranks[0] &&
             each.note.ranks[1] == verdict.ranks[1];
    };
    if (std::ranges::any_of(lengths_, is_same)) return;
    if (lengths_.size() == kMostLengths) lengths_.erase(lengths_.begin());
    lengths_.push_back({verdict, std::ranges::find(reported_, number) != reported_.end()});
  }
  count_unreported();
  // Pairs with the acquire in differs().
  if (number < first_differing_.load(std::memory_order_relaxed))
    first_differing_.store(number, std::memory_order_release);
}

void RollCall::count_unreported() noexcept {
  std::uint32_t count = broken_ && !broken_->is_reported ? 1 : 0;
  for (const Verdict& each : lengths_) count += each.is_reported ? 0 : 1;
  unreported_.store(count, std::memory_order_release);
}

void RollCall::conclude(const Note& verdict, bool tell) noexcept {
  {
    const std::lock_guard lock(mutex_);
    note_verdict(verdict);
  }
  if (!tell) return;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_ || send(peer, verdict)) continue;
    const std::lock_guard lock(mutex_);
    unsent_notes_.push_back({peer, verdict});
  }
}

bool RollCall::tell_again() noexcept {
  std::vector<UnsentNote> unsent;
  {
    const std::lock_guard lock(mutex_);
    unsent.swap(unsent_notes_);
  }
  std::erase_if(unsent, [this](const UnsentNote& each) { return send(each.rank, each.note); });
  const std::lock_guard lock(mutex_);
  unsent_notes_.insert(unsent_notes_.end(), unsent.begin(), unsent.end());
  return unsent_notes_.empty();
}

bool RollCall::is_concerned(std::uint64_t number) const noexcept {
  const std::lock_guard lock(mutex_);
  if (broken_ && broken_->note.called[0].number <= number) return true;
  // Ranks whose lengths differ still agree on the order of what follows.
  return std::ranges::any_of(lengths_,
                             [&](const Verdict& each) { return each.note.called[0].number == number; });
}

Outcome RollCall::outcome_of(std::uint64_t number) const noexcept {
  const std::lock_guard lock(mutex_);
  if (!broken_ || broken_->note.called[0].number > number) return Outcome::truncated;
  return broken_->note.kind == Kind::expired ? Outcome::timed_out : Outcome::cancelled;
}

bool RollCall::is_expired() const noexcept {
  if (!is_broken()) return false;
  const std::lock_guard lock(mutex_);
  return broken_->note.kind == Kind::expired;
}

bool RollCall::has_calls_of(std::uint64_t number, int one, int other) const noexcept {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(lengths_, [&](const Verdict& each) {
    const auto& ranks = each.note.ranks;
    return each.note.called[0].number == number &&
           ((ranks[0] == one && ranks[1] == other) || (ranks[0] == other && ranks[1] == one));
  });
}

std::string RollCall::neighbors_of(const Note& verdict) const {
  std::string text = "; only one of them names the other as neighbor";
  for (const int sender : {0, 1}) {
    const int receiver = 1 - sender;
    const std::string from = sender_.name_of(verdict.ranks[sender]);
    const std::string to = sender_.name_of(verdict.ranks[receiver]);
    const bool sends = verdict.called[sender].names_destination(verdict.ranks[receiver]);
    const bool expects = verdict.called[receiver].names_source(verdict.ranks[sender]);
    if (sends && !expects) text += ": " + from + " sends to " + to + ", which does not name it as a source";
    if (expects && !sends)
      text += ": " + to + " waits for " + from + ", which does not name it as a destination";
  }
  return text;
}

std::string RollCall::text_of(const Note& verdict) const {
  const auto call_of = [&](int index) {
    return sender_.name_of(verdict.ranks[index]) + " " + verdict.called[index].text();
  };
  if (verdict.kind == Kind::expired)
    return sender_.name_of(verdict.ranks[0]) + " has waited" +
           (verdict.ranks[1] >= 0 ? " for " + sender_.name_of(verdict.ranks[1]) : "") +
           " longer than the timeout in " + verdict.called[0].text();
  if (verdict.kind == Kind::lengths)
    return std::string(traits_of(verdict.called[0].kind).name) + ": " + sender_.name_of(verdict.ranks[1]) +
           " sent " + std::to_string(verdict.sent) + " bytes where " + sender_.name_of(verdict.ranks[0]) +
           " expects " + std::to_string(verdict.expected) + ": " + call_of(0) + "; " + call_of(1);
  std::string text = "ranks have called different collectives: " + call_of(0) + "; " + call_of(1);
  if (verdict.called[0].fits(verdict.called[1])) text += neighbors_of(verdict);
  return text;
}

std::string RollCall::report(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  Verdict* verdict = broken_ && broken_->note.called[0].number <= number ? &*broken_ : nullptr;
  for (Verdict& each : lengths_)
    if (verdict == nullptr && each.note.called[0].number == number) verdict = &each;
  if (verdict == nullptr) return "ranks have called different collectives";
  for (Verdict& each : lengths_)
    if (each.note.called[0].number == number) each.is_reported = true;
  verdict->is_reported = true;
  reported_.push_back(number);
  if (reported_.size() > kMostLengths) reported_.erase(reported_.begin());
  count_unreported();
  std::string text = text_of(verdict->note);
  if (const auto mine = called(number); mine && verdict->note.kind == Kind::differing)
    text += "; this rank waits in " + mine->text();
  return text + (verdict->note.kind == Kind::expired ? "" : kRule);
}

std::string RollCall::report_any() {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    if (broken_ && !broken_->is_reported) {
      broken_->is_reported = true;
      count_unreported();
      return text_of(broken_->note) + (broken_->note.kind == Kind::expired ? "" : kRule);
    }
    const auto next = std::ranges::find(lengths_, false, &Verdict::is_reported);
    if (next == lengths_.end()) return {};
    number = next->note.called[0].number;
  }
  return report(number);
}

std::string RollCall::report_length(std::uint64_t number, int one, int other) {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (Verdict& each : lengths_) {
    if (each.note.called[0].number != number) continue;
    each.is_reported = true;
    const auto& ranks = each.note.ranks;
    if (text.empty() && ((ranks[0] == one && ranks[1] == other) || (ranks[0] == other && ranks[1] == one)))
      text = "; " + sender_.name_of(ranks[0]) + " " + each.note.called[0].text() + "; " +
             sender_.name_of(ranks[1]) + " " + each.note.called[1].text();
  }
  reported_.push_back(number);
  if (reported_.size() > kMostLengths) reported_.erase(reported_.begin());
  count_unreported();
  return text;
}

}  // namespace weft::collective
