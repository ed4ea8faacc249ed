#include "collective/ring.hpp"

#include "collective/collective_context.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

namespace weft::collective {

namespace {

// The size of a packet, by default; smaller pieces cost more than they gain.
constexpr std::size_t kPieceBytes = 32 << 10;
// Pieces that may be sent to a neighbour that has not begun, which keeps them.
constexpr std::uint32_t kBeforeBegun = 16;
constexpr std::uint32_t kPolls = 256;  // empty polls before a thread waits or yields
// The longest time for which notices to neighbours are retried when this rank gives up: a neighbour whose
// threads do not run for a while, or that has no connection to this rank yet (libfabric), refuses for
// milliseconds. After that the error is reported without the notice, since it matters more.
constexpr std::chrono::seconds kUntilTold{10};
constexpr std::chrono::seconds kUntilKnown{1};

std::size_t elements_of_piece(const detail::CollectiveCall& call) noexcept {
  return std::max<std::size_t>(1, kPieceBytes / call.reduction.element);
}

std::size_t begin_of(const detail::CollectiveCall& call, int block, int size) noexcept {
  const auto blocks = static_cast<std::size_t>(size);
  const auto number = static_cast<std::size_t>(block);
  // Not computed as count * number / blocks, which may overflow.
  return call.count / blocks * number + call.count % blocks * number / blocks;
}

}  // namespace

bool Ring::can_run(const detail::CollectiveCall& call, int size) noexcept {
  if (call.reduction.is_ordered) return false;
  const std::size_t widest = call.count / static_cast<std::size_t>(size) + 1;
  const std::size_t pieces = widest / elements_of_piece(call) + 1;
  return pieces < kNotice / (2 * static_cast<std::size_t>(size));
}

std::uint32_t Ring::pieces_of(int block) const noexcept {
  const std::size_t elements = begin_of(call_, block + 1, size_) - begin_of(call_, block, size_);
  return static_cast<std::uint32_t>((elements + piece_elements_ - 1) / piece_elements_);
}

Ring::Piece Ring::piece_of(int block, std::uint32_t piece) const noexcept {
  const std::size_t first = begin_of(call_, block, size_) + piece * piece_elements_;
  return {first, std::min(piece_elements_, begin_of(call_, block + 1, size_) - first)};
}

/// The block whose pieces arrive in a round; in the next round they are sent on.
int Ring::block_in(std::uint32_t round) const noexcept {
  return static_cast<int>((static_cast<std::uint32_t>(rank_) + 2U * static_cast<std::uint32_t>(size_) - 1 -
                           round % static_cast<std::uint32_t>(size_)) %
                          static_cast<std::uint32_t>(size_));
}

void Ring::begin(CollectiveContext& context, const detail::CollectiveCall& call) {
  context_ = &context;
  call_ = call;
  rank_ = context.rank();
  size_ = context.size();
  neighbour_ = {(rank_ + 1) % size_, (rank_ + size_ - 1) % size_};
  neighbours_ = neighbour_[0] == neighbour_[1] ? 1 : 2;
  run_ = context.next_run(call);
  piece_elements_ = elements_of_piece(call);
  pieces_ = 0;
  for (int block = 0; block < size_; ++block) pieces_ = std::max(pieces_, pieces_of(block));
  own_ = pieces_of(rank_);
  const auto rounds = 2 * static_cast<std::uint32_t>(size_ - 1);
  expected_ = 0;
  for (std::uint32_t round = 0; round < rounds; ++round) expected_ += pieces_of(block_in(round));
  // All pieces that arrive are passed on, except those of the last round.
  const std::uint32_t passed_on = expected_ - pieces_of(block_in(rounds - 1));
  to_send_ = own_ + passed_on;
  if (passed_on > capacity_) {
    outbox_ = std::make_unique<std::atomic<std::uint32_t>[]>(passed_on);
    capacity_ = passed_on;
  }
  for (std::uint32_t slot = 0; slot < passed_on; ++slot) outbox_[slot].store(0, std::memory_order_relaxed);
  is_blocked_ = differs_ = false;
  for (auto* counter : {&sent_, &noticed_, &posted_, &arrived_, &ended_, &queued_})
    counter->store(0, std::memory_order_relaxed);
  for (auto& has_begun : has_begun_) has_begun.store(false, std::memory_order_relaxed);
  outcome_.store(Outcome::ok, std::memory_order_relaxed);
  has_heard_.store(false, std::memory_order_relaxed);
  other_length_.store(-1, std::memory_order_relaxed);

  std::vector<Message> held;
  {
    const std::lock_guard lock(mutex_);
    turn_ = next_turn_;
    next_turn_ = (next_turn_ + 1) % kTurns;
    // Pairs with the load in arrive(): all of the above is visible to the threads that deliver.
    active_.store(turn_, std::memory_order_seq_cst);
    held.swap(held_);
  }
  for (Message& message : held) take(message);
}

void Ring::arrive(Message& message) noexcept {
  const auto turn = static_cast<std::uint32_t>(message.tag()) >> 24 & (kTurns - 1);
  // Either end() sees this thread inside, or this thread sees that the turn has ended.
  inside_.fetch_add(1, std::memory_order_seq_cst);
  bool is_now = active_.load(std::memory_order_seq_cst) == turn;
  if (!is_now) {
    const std::lock_guard lock(mutex_);
    is_now = active_.load(std::memory_order_relaxed) == turn;
    // A message of a turn that has ended: its sender does not know yet that this rank gave up.
    const bool is_over = (next_turn_ + kTurns - 1 - turn) % kTurns < kTurns / 2;
    if (!is_now && !is_over) held_.push_back(message.take());
  }
  if (is_now) take(message);
  inside_.fetch_sub(1, std::memory_order_release);
  notify_waiters_of(this);
}

void Ring::take(Message& message) noexcept {
  const auto sequence = static_cast<std::uint32_t>(message.tag()) & kNotice;
  if (sequence == kNotice) return take_notice(message);
  const std::uint32_t round = sequence / pieces_;
  const auto rounds = 2 * static_cast<std::uint32_t>(size_ - 1);
  const int block = block_in(round);
  const std::uint32_t number = sequence % pieces_;
  const std::size_t width = call_.reduction.element;
  // If lengths differ, pieces do as well; the notices report it.
  if (round >= rounds || number >= pieces_of(block)) return;
  const Piece piece = piece_of(block, number);
  if (message.size() != piece.elements * width) return;
  std::byte* const to = call_.to + piece.first * width;
  if (round < rounds / 2)
    call_.reduction.apply(to, call_.from + piece.first * width, message.data(), piece.elements,
                          call_.reduction.operator_bytes);
  else
    std::memcpy(to, message.data(), message.size());
  if (round + 1 < rounds) {
    const std::uint32_t slot = queued_.fetch_add(1, std::memory_order_relaxed);
    if (slot >= capacity_) return;  // more pieces than the run has
    // Pairs with the acquire in may_send().
    outbox_[slot].store((round + 1) * pieces_ + number + 1, std::memory_order_release);
  }
  arrived_.fetch_add(1, std::memory_order_release);
}

void Ring::take_notice(const Message& message) noexcept {
  const auto notice = message.as<Notice>();
  if (notice.signature != signature_of(call_)) return;  // another collective: the roll call will tell
  const std::uint64_t bytes = call_.count * call_.reduction.element;
  if (notice.note == Note::gave_up) {
    has_heard_.store(true, std::memory_order_relaxed);
    outcome_.store(Outcome::peer_failed, std::memory_order_release);
  } else if (notice.note == Note::gave_up_for_lengths || notice.bytes != bytes) {
    int nobody = -1;
    if (outcome_.load(std::memory_order_relaxed) == Outcome::ok &&
        other_length_.compare_exchange_strong(nobody, message.peer(), std::memory_order_relaxed)) {
      other_bytes_ = notice.note == Note::begun ? notice.bytes : bytes;
      outcome_.store(Outcome::truncated, std::memory_order_release);
    }
  } else {
    has_begun_[message.peer() == context_->peer_of(neighbour_[0]) ? 0 : 1].store(true,
                                                                                 std::memory_order_release);
  }
}

void Ring::signal(Message& message) noexcept {
  const Outcome outcome = message.outcome();
  if (message.operation() == Operation::receive) {
    auto& guard = *static_cast<Guard*>(message.user_data());
    guard.is_lost.store(outcome != Outcome::cancelled, std::memory_order_relaxed);
    guard.ended.store(true, std::memory_order_release);
  } else {
    if (outcome != Outcome::ok) outcome_.store(Outcome::peer_failed, std::memory_order_release);
    ended_.fetch_add(1, std::memory_order_release);
  }
  notify_waiters_of(this);
}

bool Ring::may_send() const noexcept {
  const std::uint32_t sent = sent_.load(std::memory_order_relaxed);
  if (sent == to_send_ || (sent >= kBeforeBegun && !has_begun(0))) return false;
  return sent < own_ || outbox_[sent - own_].load(std::memory_order_acquire) != 0;
}

/// Returns true when a neighbour that this rank still needs has left or failed. The right neighbour may
/// finish before this rank does, and leave; messages of the left neighbour have arrived before its guard
/// ends.
bool Ring::has_lost_neighbour() const noexcept {
  const auto is_lost = [this](std::size_t side) {
    // Pairs with the release in signal().
    return guards_[side].ended.load(std::memory_order_acquire) &&
           guards_[side].is_lost.load(std::memory_order_relaxed);
  };
  const std::size_t left = neighbours_ - 1;
  return (is_lost(0) && (!has_begun(0) || sent_.load(std::memory_order_relaxed) != to_send_)) ||
         (is_lost(left) && (!has_begun(left) || arrived_.load(std::memory_order_acquire) != expected_));
}

bool Ring::ready() const noexcept {
  return has_failed() || is_complete() || may_send() || (has_guards_ && has_lost_neighbour());
}

Status Ring::post(int peer, Bytes bytes, std::uint32_t sequence) {
  const ActiveMessageOptions options{
      .completion = this, .tag = kTag | turn_ << 24 | sequence, .may_complete_now = true};
  // Counted before the post, since the message may end before the call returns.
  posted_.fetch_add(1, std::memory_order_relaxed);
  const Status status =
      context_->port().post_am(context_->peer_of(peer), context_->mailbox()->remote(), bytes, options);
  if (!status.is_posted()) posted_.fetch_sub(1, std::memory_order_relaxed);
  return status;
}

/// Posts a notice to every neighbour that has not got one yet. Returns false when a post was refused.
bool Ring::post_notices(Note note) {
  for (std::uint32_t side = noticed_.load(std::memory_order_relaxed); side < neighbours_; ++side) {
    const Notice notice{note, call_.count * call_.reduction.element, signature_of(call_)};
    if (post(neighbour_[side], std::as_bytes(std::span(&notice, 1)), kNotice).is_retry()) return false;
    noticed_.store(side + 1, std::memory_order_relaxed);
  }
  return true;
}

/// Sends notices and pieces as far as possible. Returns true when a piece was sent.
bool Ring::send_some() {
  is_blocked_ = !post_notices(Note::begun);
  if (is_blocked_) return false;
  bool has_sent = false;
  for (; may_send(); has_sent = true) {
    const std::uint32_t index = sent_.load(std::memory_order_relaxed);
    const bool is_own = index < own_;
    const std::uint32_t sequence = is_own ? index : outbox_[index - own_].load(std::memory_order_relaxed) - 1;
    const std::uint32_t round = sequence / pieces_;
    const Piece piece = piece_of(is_own ? rank_ : block_in(round - 1), sequence % pieces_);
    const std::size_t width = call_.reduction.element;
    const std::byte* const from = (is_own ? call_.from : call_.to) + piece.first * width;
    is_blocked_ = post(neighbour_[0], {from, piece.elements * width}, sequence).is_retry();
    if (is_blocked_) break;
    sent_.store(index + 1, std::memory_order_relaxed);
  }
  return has_sent;
}

/// Posts the guards: receives to which no rank sends, and which end when a neighbour has left.
void Ring::post_guards() {
  if (has_guards_) return;
  has_guards_ = true;
  for (std::uint32_t side = 0; side < neighbours_; ++side) {
    Guard& guard = guards_[side];
    guard.peer = neighbour_[side];
    guard.is_lost.store(false, std::memory_order_relaxed);
    guard.ended.store(false, std::memory_order_relaxed);
    ReceiveOptions options = context_->receive_options(*this);
    options.user_data = &guard;
    options.handle = &guard.handle;
    while (context_->port()
               .post_receive(context_->peer_of(guard.peer),
                             context_->tag_of(run_, call_) | context_->tags().guard(), {}, options)
               .is_retry())
      context_->port().progress();
  }
}

void Ring::end_guards() {
  if (!has_guards_) return;
  has_guards_ = false;
  for (std::uint32_t side = 0; side < neighbours_; ++side) {
    Guard& guard = guards_[side];
    static_cast<void>(context_->port().cancel(guard.handle));
    while (!guard.ended.load(std::memory_order_acquire)) context_->port().progress();
  }
}

Outcome Ring::run(CollectiveContext& context, const detail::CollectiveCall& call) {
  begin(context, call);
  detail::CollectivePort& port = context.port();
  // A neighbour that is not there yet refuses: meanwhile time passes, and others may fail.
  LongWait refused(
      context, run_, {neighbour_.data(), neighbours_}, [](void*) noexcept { return false; }, nullptr);
  for (std::uint32_t idle = 0; !has_failed() && !is_complete();) {
    if (has_guards_ && has_lost_neighbour()) {
      outcome_.store(Outcome::peer_failed, std::memory_order_release);
    } else if (const bool has_sent = send_some(); port.progress() != 0 || has_sent) {
      idle = 0;
    } else if (++idle > kPolls) {
      if (is_blocked_) {
        std::this_thread::yield();
        differs_ = refused.is_over();
        if (differs_ || context.has_lost_a_rank())
          outcome_.store(Outcome::peer_failed, std::memory_order_release);
      } else {
        post_guards();
        if (!context.wait(*this, run_, {neighbour_.data(), neighbours_})) {
          differs_ = true;
          outcome_.store(Outcome::peer_failed, std::memory_order_release);
        }
      }
    }
  }
  return end();
}

Outcome Ring::end() {
  detail::CollectivePort& port = context_->port();
  end_guards();
  const Outcome outcome = outcome_.load(std::memory_order_acquire);
  if (outcome != Outcome::ok) {
    // Neighbours need this rank's length to see that theirs differs.
    const auto deadline = std::chrono::steady_clock::now() + (differs_ ? kUntilKnown : kUntilTold);
    const auto tell = [&](Note note) {
      while (!post_notices(note) && std::chrono::steady_clock::now() < deadline)
        if (port.progress() == 0) std::this_thread::yield();
      noticed_.store(0, std::memory_order_relaxed);
    };
    if (noticed_.load(std::memory_order_relaxed) != neighbours_) tell(Note::begun);
    noticed_.store(0, std::memory_order_relaxed);
    tell(outcome == Outcome::truncated ? Note::gave_up_for_lengths : Note::gave_up);
  }
  active_.store(kNoTurn, std::memory_order_seq_cst);
  while (inside_.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
  while (ended_.load(std::memory_order_acquire) != posted_.load(std::memory_order_relaxed)) port.progress();
  // A neighbour gave up: why comes by a verdict, or as the failure of a rank.
  const auto until = std::chrono::steady_clock::now() + kUntilKnown;
  while (has_heard_.load(std::memory_order_relaxed) && !context_->has_lost_a_rank() &&
         !context_->roll_call().differs(run_) && std::chrono::steady_clock::now() < until)
    if (port.progress() == 0) std::this_thread::yield();
  if (differs_ || (outcome == Outcome::peer_failed && context_->roll_call().differs(run_)))
    return context_->give_up(run_);
  if (outcome != Outcome::truncated) return outcome;
  const std::uint64_t bytes = call_.count * call_.reduction.element;
  const int peer = other_length_.load(std::memory_order_relaxed);
  if (other_bytes_ != bytes) context_->report(call_, run_, {peer, other_bytes_, bytes});
  if (context_->roll_call().differs(run_)) return context_->give_up(run_);
  // A verdict that comes later says nothing new to this rank.
  static_cast<void>(context_->roll_call().report_length(run_, context_->rank(), context_->rank_of(peer)));
  throw Error("allreduce: " + context_->name_of(context_->rank_of(peer)) +
              " gave up, because ranks have called it with different lengths");
}

}  // namespace weft::collective
