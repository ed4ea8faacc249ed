#include "collective/posted.hpp"

#include "collective/collective_context.hpp"
#include "collective/run.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace weft::collective {

namespace {

constexpr std::int64_t kFirstLook = 50'000'000;  // ns
constexpr std::int64_t kLongestLook = 1'000'000'000;

}  // namespace

PostedRuns::PostedRuns(CollectiveContext& context) noexcept : context_(context) {}

PostedRuns::~PostedRuns() { stop(); }

void PostedRuns::stop() noexcept {
  is_stopped_.store(true, std::memory_order_relaxed);
  retire();
}

void PostedRuns::add(std::unique_ptr<CollectiveRun>&& run, const CollectivePostOptions& options) {
  const std::lock_guard lock(mutex_);
  drop_ended();
  if (posted_.size() >= context_.tags().most_runs())
    throw Error("post: " + std::to_string(posted_.size()) +
                " collectives of this Collective are under way: wait for some of them first");
  posted_.reserve(posted_.size() + 1);
  posted_.push_back({std::move(run), options.completion != nullptr});
}

void PostedRuns::drop_ended() noexcept {
  // A graph that has ended is not touched any more by the thread that has ended it. Of those that nobody is
  // told of the first failed one stays, for wait().
  bool has_failed = false;
  const auto is_over = [&](const Posted& each) {
    if (!each.run->graph().ready()) return false;
    if (each.is_observed || has_failed || each.run->graph().outcome() == Outcome::ok) return true;
    has_failed = true;
    return false;
  };
  context_.note_operation(-static_cast<int>(std::erase_if(posted_, is_over)));
}

void PostedRuns::drop() {
  const std::lock_guard lock(mutex_);
  // Nobody calls wait() any more: those that have failed do not stay either.
  const auto is_over = [](const Posted& each) { return each.run->graph().ready(); };
  context_.note_operation(-static_cast<int>(std::erase_if(posted_, is_over)));
}

Outcome PostedRuns::wait() {
  Outcome outcome = Outcome::ok;
  for (;;) {
    Posted next;
    {
      const std::lock_guard lock(mutex_);
      if (posted_.empty()) break;
      next = std::move(posted_.front());
      posted_.erase(posted_.begin());
    }
    context_.note_operation(-1);
    if (next.is_observed && next.run->graph().ready()) continue;  // its completion object has been told
    // Where it throws, those behind it go on, and belong to the next call.
    const Outcome each = next.run->wait();
    if (outcome == Outcome::ok) outcome = each;
  }
  return outcome;
}

void PostedRuns::start_watch() noexcept {
  if (is_watching_.exchange(true, std::memory_order_acq_rel)) return;
  pause_ = kFirstLook;
  watch();
}

void PostedRuns::watch() noexcept {
  ReceiveOptions options = context_.receive_options(*this);
  options.timeout = Timeout::of_nanoseconds(pause_);
  options.may_retry = false;
  const int self = context_.peer_of(context_.rank());
  // What even the backlog refuses is not watched until the next post.
  if (!context_.port().post_receive(self, context_.tags().watch(), {}, options).is_posted())
    is_watching_.store(false, std::memory_order_release);
}

void PostedRuns::signal(Message& message) noexcept {
  // Once a member has failed everything ends by itself; and with the context.
  if (message.outcome() != Outcome::timed_out || is_stopped_.load(std::memory_order_relaxed)) {
    is_watching_.store(false, std::memory_order_release);
    return;
  }
  if (look()) {
    pause_ = std::min(2 * pause_, kLongestLook);
    watch();
    return;
  }
  is_watching_.store(false, std::memory_order_release);
  // Others may have been posted meanwhile, by a thread that has seen the watch.
  bool is_quiet = true;
  {
    const std::lock_guard lock(mutex_);
    is_quiet = std::ranges::all_of(posted_, [](const Posted& each) { return each.run->graph().ready(); });
  }
  if (!is_quiet) start_watch();
}

bool PostedRuns::look() noexcept {
  Runs lost;
  if (!find_lost(lost)) return false;
  // Not under the mutex: this signals completion objects of the program, which may post.
  for (const auto& run : lost) run->abandon(context_.roll_call().outcome_of(run->number()));
  return true;
}

bool PostedRuns::find_lost(Runs& lost) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return true;
  bool is_quiet = true;
  bool has_asked = false;
  for (const Posted& each : posted_) {
    CollectiveRun& run = *each.run;
    if (!run.has_begun() || run.graph().ready()) continue;
    is_quiet = false;
    const std::uint64_t number = run.number();
    if (context_.roll_call().differs(number)) {
      lost.push_back(each.run);
    } else if (!std::exchange(has_asked, true)) {
      if (std::exchange(asked_for_, number) != number) asked_ = 0;
      context_.roll_call().ask(number, run.peers(), asked_++);
    }
  }
  return !is_quiet;
}

}  // namespace weft::collective
