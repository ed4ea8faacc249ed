// Which ranks have failed, and how the job ends.
#include <fmt/core.h>
#include <fmt/format.h>
#include <signal.h>

#include <utility>

#include "base/clock.hpp"
#include "base/text/parse.hpp"
#include "run/guardian.hpp"

namespace weft::tools::run {
namespace {

constexpr double kOrderedGrace = 30.0;  // the same when the user or a batch system ends the job: ranks may
                                        // save what they have
constexpr int kUnfinished = 1;          // exit code for a rank that ends without having left the job

}  // namespace

/// Finds ranks that exited with code 0 but failed for the job, because they never left it. The server may
/// know of the end of a rank on another host before this process knows how it ended.
void Guardian::check_unfinished() {
  while (const auto next = server_.findings().take_unfinished()) unfinished_.push_back(*next);
  std::erase_if(unfinished_, [this](const bootstrap::local::Findings::Unfinished& each) {
    if (!ranks_[static_cast<std::size_t>(each.rank)].ended) return false;
    fail_unfinished(each);
    return true;
  });
}

void Guardian::fail_unfinished(const bootstrap::local::Findings::Unfinished& rank) {
  if (rank.is_cut_off)
    fail(rank.rank, kUnfinished,
         "exited with code 0, but its connection to the launcher had ended while it ran, and with it its "
         "part in the job: the program has closed descriptors that it did not open, has executed another "
         "program while its weft::Runtime was open, or was a part of a script and ended without leaving");
  else if (rank.has_joined)
    fail(rank.rank, kUnfinished,
         "exited with code 0 without leaving the job: its weft::Runtime was not destroyed (std::exit and "
         "_exit destroy nothing of main's)");
  else
    fail(rank.rank, kUnfinished,
         fmt::format("exited with code 0 before it joined the job, which rank {} has joined: every rank must "
                     "make its weft::Runtime",
                     rank.other));
}

/// Ends ranks that were declared failed although they run: they may not go on as if they were members.
void Guardian::check_unreachable() {
  while (const auto lost = server_.findings().take_unreachable()) {
    if (ranks_[static_cast<std::size_t>(lost->rank)].ended) continue;
    err_.say(fmt::format("weft run: {} is ended, because rank {} cannot reach it: {}", name_of(lost->rank),
                         lost->by, lost->why));
    end_rank(lost->rank);
  }
}

/// Ranks that differ in what all must agree on. They are reported by themselves as well.
void Guardian::check_refused() {
  while (const auto refused = server_.findings().take_refused())
    fail(refused->rank, 1, "cannot take part in the job: " + refused->why);
}

/// Notes that a rank has failed. `how` reads "exited with code 3". A rank fails only once, although a rank
/// that was killed has not left the job, either.
void Guardian::fail(int rank, int exit_code, const std::string& how) {
  Rank& failed = ranks_[static_cast<std::size_t>(rank)];
  if (verdict_ || std::exchange(failed.failed, true)) return;
  err_.read_sources();
  const std::string line = fmt::format("{} {}", name_of(rank), how);
  if (!job_.options.keep_going) {
    decide(exit_code, line);
    return;
  }
  if (failures_.empty()) first_failure_ = exit_code;
  failures_.push_back(line);
}

// Reports the ranks that failed, in that order, at the end of a job with --keep-going.
void Guardian::report_failures() {
  if (failures_.empty()) return;
  if (!verdict_) verdict_ = first_failure_;
  err_.say(fmt::format("weft run: {} of {} ranks failed: {}", failures_.size(), ranks_.size(),
                       fmt::join(failures_, "; ")));
}

// Reports messages that were accepted and have not arrived: the job has then failed, whatever its ranks say.
void Guardian::report_losses() {
  for (const auto& [rank, what] : server_.findings().losses())
    err_.say(fmt::format("weft run: {} had accepted messages that are lost: {}", name_of(rank), what));
  if (!server_.findings().losses().empty() && !verdict_) verdict_ = 1;
}

void Guardian::check_abort() {
  if (!server_.findings().aborted() || verdict_) return;
  const auto& abort = *server_.findings().aborted();
  decide(abort.code,
         fmt::format("{} aborted the job with code {}: {}", name_of(abort.rank), abort.code, abort.reason));
}

void Guardian::check_time() {
  if (verdict_ || stopped_since_ns_ || !time_limit_ || !time_limit_->passed()) return;
  const char* const hint =
      explanation_ ? "" : "; --explain SECONDS, with fewer of them, tells who waits for whom";
  decide(kTimedOut, fmt::format("the job did not end within {} s (--timeout){}",
                                base::seconds_text(*job_.options.timeout_seconds), hint));
}

void Guardian::check_explanation() {
  if (!explanation_ || stopped_since_ns_) return;
  if (const auto paragraph = explanation_->work())
    err_.say(fmt::format("weft run: the job has not ended. {}", *paragraph));
}

void Guardian::decide(int exit_code, const std::string& line, double grace_seconds) {
  if (verdict_) return;
  verdict_ = exit_code;
  err_.say("weft run: " + line);
  if (remote_) remote_->stop_input(true);
  signal_ranks(SIGTERM);
  signal_ranks(SIGCONT);
  grace_.emplace(grace_seconds);
}

/// A signal to the launcher reaches the ranks. SIGTERM is an order to end the job; the ranks may answer other
/// signals in their own way.
void Guardian::pass_on(int signal) {
  const bool ends = signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
  if (ends) passed_on_ = signal;
  if (signal == SIGTERM && !verdict_)
    end_by(signal, kOrderedGrace);
  else
    signal_ranks(signal);
}

/// The job is ended by a signal to the launcher, and not by a rank that failed.
void Guardian::end_by(int signal, double grace_seconds) {
  decide(128 + signal, fmt::format("ended by SIG{}, and the ranks with it", ::sigabbrev_np(signal)),
         grace_seconds);
}

void Guardian::end_rank(int rank) {
  if (remote_)
    remote_->signal_rank(rank, SIGKILL);
  else
    ::kill(-ranks_[static_cast<std::size_t>(rank)].process, SIGKILL);
}

void Guardian::signal_ranks(int signal) {
  if (remote_) return remote_->signal_all(signal);
  for (const Rank& rank : ranks_) {
    if (rank.process != 0 && !rank.ended) ::kill(-rank.process, signal);
  }
}

/// Stops the ranks. They cannot refuse: a job of which only half of the ranks compute would not be stopped.
/// They have sessions of their own away from the terminal, where SIGTSTP would do nothing.
void Guardian::stop() {
  if (verdict_ || stopped_since_ns_) return;
  signal_ranks(SIGSTOP);
  if (remote_) remote_->stop_input(true);
  stopped_since_ns_ = base::now_ns();
}

/// Continues the ranks. The time for which the job was stopped does not count.
void Guardian::resume() {
  if (!stopped_since_ns_) return;
  const std::int64_t stopped_ns = base::now_ns() - *stopped_since_ns_;
  stopped_since_ns_.reset();
  if (remote_) remote_->stop_input(verdict_.has_value());
  if (time_limit_) time_limit_->postpone(stopped_ns);
  if (explanation_) explanation_->postpone(stopped_ns);
  signal_ranks(SIGCONT);
}

}  // namespace weft::tools::run
