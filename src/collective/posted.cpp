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
constexpr std::size_t kFewKept = 16;

}  // namespace

PostedRuns::PostedRuns(CollectiveContext& context) noexcept : context_(context) {}

PostedRuns::~PostedRuns() { stop(); }

void PostedRuns::stop() noexcept {
  is_stopped_.store(true, std::memory_order_relaxed);
  retire();
  watch_.reset();
}

void PostedRuns::add(std::unique_ptr<CollectiveRun>&& run, const CollectivePostOptions& options) {
  const std::lock_guard lock(mutex_);
  if (posted_.size() >= drop_at_) {
    drop_ended();
    drop_at_ = std::min(2 * posted_.size() + kFewKept, context_.tags().most_runs());
  }
  if (posted_.size() >= context_.tags().most_runs())
    throw Error("post: " + std::to_string(posted_.size()) +
                " collectives of this Collective are under way: wait for some of them first");
  if (!watch_) make_watch();
  posted_.emplace_back();
  posted_.back() = {std::move(run), options.completion != nullptr};
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
      posted_.pop_front();
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
  watch_->start();
}

void PostedRuns::make_watch() {
  watch_.emplace();
  const auto post = [this](Completion& node) {
    ReceiveOptions options = context_.receive_options(node);
    options.timeout = Timeout::of_nanoseconds(pause_);
    options.may_retry = false;
    return context_.port().post_receive(context_.peer_of(context_.rank()), context_.tags().watch(), {},
                                        options);
  };
  watch_->add(post, [this](const Message& message) {
    may_look_.store(message.outcome() == Outcome::timed_out, std::memory_order_relaxed);
    return Outcome::ok;
  });
  watch_->set_completion(this);
  watch_->prepare();
}

void PostedRuns::signal(Message&) noexcept {
  // Once a member has failed everything ends by itself; and with the context.
  if (!may_look_.load(std::memory_order_relaxed) || is_stopped_.load(std::memory_order_relaxed)) {
    is_watching_.store(false, std::memory_order_release);
    return;
  }
  if (look()) {
    pause_ = std::min(2 * pause_, kLongestLook);
    watch_->start();
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
