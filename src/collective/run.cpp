#include "collective/run.hpp"

#include "collective/kinds/kind_table.hpp"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

namespace weft::collective {

namespace {

constexpr std::int64_t kUntilTakenBack = 100'000'000;  // ns

}  // namespace

CollectiveRun::CollectiveRun(CollectiveContext& context, const detail::CollectiveCall& call)
    : context_(context), lists_(call), call_(call) {
  call_.from_counts = lists_.from_counts;
  call_.to_counts = lists_.to_counts;
  call_.sources = lists_.sources;
  call_.destinations = lists_.destinations;
  call_.from_displacements = lists_.from_displacements;
  call_.to_displacements = lists_.to_displacements;
  begin_ = graph_.add_function([this] {
    has_mismatch_.store(false, std::memory_order_relaxed);
    abandoned_for_.store(Outcome::ok, std::memory_order_relaxed);
    for (Operation& operation : operations_) operation.is_posted.store(false, std::memory_order_relaxed);
    number_.store(context_.next_run(call_), std::memory_order_release);
    return context_.before_run();
  });
  last_ = {begin_};
  lay_out(*this, call_, context.rank(), context.size());
  last_.insert(last_.end(), ends_.begin(), ends_.end());
  // Who waits for the graph by itself learns of messages with another length, too.
  after_last(graph_.add_function([this] {
    if (!has_mismatch_.load(std::memory_order_relaxed)) return Outcome::ok;
    static_cast<void>(context_.roll_call().tell_length(number(), context_.rank_of(mismatch_.peer),
                                                       mismatch_.sent, mismatch_.expected));
    return Outcome::truncated;
  }));
  graph_.prepare();
}

CollectiveRun::~CollectiveRun() {
  if (has_begun() && !graph_.ready()) context_.kept_runs().keep_memory(std::move(scratch_));
}

void CollectiveRun::start(const std::source_location& where) {
  if (graph_.ready() || !has_begun()) call_.where = where;
  graph_.start();
}

Outcome CollectiveRun::wait() {
  if (context_.size() == 1) progress_alone(context_.port());
  if (!graph_.ready() && !context_.wait(graph_, number(), peers_)) {
    abandon(context_.roll_call().outcome_of(number()));
    progress_until_taken_back();
    if (graph_.ready()) static_cast<void>(graph_.outcome());  // the report says more
    return context_.give_up(number());
  }
  const Outcome outcome = graph_.outcome();  // which counts as read, also where the report says more
  if (has_mismatch_.load(std::memory_order_relaxed)) context_.report(call_, number(), mismatch_);
  if (outcome != Outcome::ok && outcome != Outcome::peer_failed && context_.roll_call().differs(number()))
    return context_.give_up(number());
  if (outcome == Outcome::ok && context_.roll_call().owe_again()) return context_.refuse_broken();
  return outcome;
}

void CollectiveRun::abandon(Outcome outcome) noexcept {
  abandoned_for_.store(outcome, std::memory_order_seq_cst);
  for (const Operation& operation : operations_)
    if (operation.is_posted.load(std::memory_order_seq_cst)) take_back(operation);
}

/// Either abandon() sees that it has been posted, or this thread sees that the run is abandoned.
Status CollectiveRun::note_posted(Operation& operation, Status status) noexcept {
  if (!status.is_posted()) return status;
  operation.is_posted.store(true, std::memory_order_seq_cst);
  if (abandoned_for_.load(std::memory_order_seq_cst) != Outcome::ok) [[unlikely]]
    take_back(operation);
  return status;
}

/// Handles that name nothing, or what has ended, do no harm.
void CollectiveRun::take_back(const Operation& operation) noexcept {
  if (!context_.port().cancel(operation.receive)) static_cast<void>(context_.port().cancel(operation.send));
}

/// Sends that were announced end when their receivers answer.
void CollectiveRun::progress_until_taken_back() noexcept {
  const std::int64_t end = now_ns() + kUntilTakenBack;
  while (!graph_.test() && now_ns() < end)
    if (context_.port().progress() == 0) std::this_thread::yield();
}

void CollectiveRun::begin_segment() {
  segment_ = segments_++;
  if (segment_ != 0) ends_.insert(ends_.end(), last_.begin(), last_.end());
  last_ = {begin_};
}

void CollectiveRun::after_last(Graph::Node node) {
  for (const Graph::Node before : last_) graph_.order(before, node);
}

void CollectiveRun::send(int peer, Bytes bytes, std::uint32_t step) {
  const auto post = [this, &operation = operations_.emplace_back(), to = context_.peer_of(peer), bytes, step,
                     segment = segment_](Completion& node) {
    SendOptions options = context_.send_options(node);
    options.may_retry = false;
    options.timeout = Timeout::of_nanoseconds(context_.timeout());
    options.handle = &operation.send;
    return note_posted(operation, context_.port().post_send(to, tag_of(segment, step), bytes, options));
  };
  note_peer(peer);
  const Graph::Node node = graph_.add(post, [this](const Message& message) { return end_of(message); });
  after_last(node);
  group_.push_back(node);
}

void CollectiveRun::receive(int peer, std::span<std::byte> buffer, std::uint32_t step, bool early) {
  const auto post = [this, &operation = operations_.emplace_back(), from = context_.peer_of(peer), buffer,
                     step, segment = segment_](Completion& node) {
    ReceiveOptions options = context_.receive_options(node);
    options.may_retry = false;
    options.timeout = Timeout::of_nanoseconds(context_.timeout());
    options.handle = &operation.receive;
    return note_posted(operation, context_.port().post_receive(from, tag_of(segment, step), buffer, options));
  };
  note_peer(peer);
  const Graph::Node node =
      graph_.add(post, [this, size = buffer.size()](Message& message) { return judge(message, size); });
  if (early) {
    has_early_ = true;
    graph_.order(begin_, node);
  } else {
    after_last(node);
  }
  group_.push_back(node);
}

Outcome CollectiveRun::end_of(const Message& message) const noexcept {
  const Outcome outcome = message.outcome();
  if (outcome != Outcome::cancelled) return outcome;
  const Outcome why = abandoned_for_.load(std::memory_order_relaxed);
  return why != Outcome::ok ? why : outcome;
}

Outcome CollectiveRun::judge(const Message& message, std::size_t expected) noexcept {
  const Outcome outcome = end_of(message);
  const bool has_arrived = message.outcome() == Outcome::ok || message.outcome() == Outcome::truncated;
  if (message.length() == expected || !has_arrived) return outcome;
  // The run goes on, so that the ranks with the right length do not wait for ever.
  if (!has_mismatch_.exchange(true, std::memory_order_relaxed))
    mismatch_ = {message.peer(), message.length(), expected};
  return Outcome::ok;
}

void CollectiveRun::note_peer(int peer) {
  if (std::ranges::find(peers_, peer) == peers_.end()) peers_.push_back(peer);
}

void CollectiveRun::join() {
  if (group_.empty()) return;
  // An early receive does not come after the previous group, so the next steps must also be ordered after
  // that group.
  if (has_early_) group_.insert(group_.end(), last_.begin(), last_.end());
  last_.swap(group_);
  group_.clear();
  has_early_ = false;
}

void CollectiveRun::compute(std::byte* to, const std::byte* a, const std::byte* b, std::size_t elements) {
  const Graph::Node node = graph_.add_function([this, to, a, b, elements] {
    if (!has_mismatch_.load(std::memory_order_relaxed))
      call_.reduction.apply(to, a, b, elements, call_.reduction.operator_bytes);
    else if (const std::size_t bytes = elements * call_.reduction.element; to != a && bytes != 0)
      std::memcpy(to, a, bytes);  // `b` has arrived: behind a shorter message lie bytes of an earlier run
  });
  after_last(node);
  last_ = {node};
}

void CollectiveRun::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  const Graph::Node node = graph_.add_function([to, from, bytes] {
    if (bytes != 0) std::memcpy(to, from, bytes);
  });
  after_last(node);
  last_ = {node};
}

std::byte* CollectiveRun::scratch(std::size_t bytes) {
  scratch_.push_back(std::make_unique<std::byte[]>(bytes));
  return scratch_.back().get();
}

}  // namespace weft::collective
