// A job over several hosts: what agents tell, and their last output.
#include <poll.h>

#include <optional>

#include "base/clock.hpp"
#include "run/guardian.hpp"
#include "run/ranks/processes.hpp"

namespace weft::tools::run {

namespace {

constexpr double kAgentsEnd =
    5.0;  // seconds after --timeout, for the agents to end and the output to be taken

}  // namespace

void Guardian::work_for_hosts() {
  remote_->work();
  // What has come stands before the line that reports the end of who has written it.
  out_.read_sources();
  err_.read_sources();
  take_remote_events();
}

void Guardian::take_remote_events() {
  while (const auto event = remote_->take_event()) {
    switch (event->kind) {
      case RemoteEvent::Kind::started:
        ranks_[static_cast<std::size_t>(event->rank)].process = event->number;
        break;
      case RemoteEvent::Kind::ended:
        rank_ended(event->rank, event->number);
        break;
      case RemoteEvent::Kind::lost:
        note_end(event->rank);
        server_.rank_ended(event->rank, event->text);
        if (explanation_) explanation_->rank_ended(event->rank, event->text);
        fail(event->rank, 1, event->text);
        break;
      case RemoteEvent::Kind::trouble:
        if (verdict_)
          err_.say("weft run: " + event->text);  // one of several hosts
        else
          decide(event->number, event->text);
        running_ = 0;  // some have not begun
        break;
    }
  }
}

/// Has the agents end, and takes what ranks have written until then.
void Guardian::await_remote_output() {
  remote_->finish();
  std::optional<base::Deadline> limit;
  if (verdict_ == kTimedOut || front_has_died()) limit.emplace(kAgentsEnd);
  while (!remote_->has_finished() && !(limit && limit->passed())) {
    if (!limit && front_has_died()) limit.emplace(kAgentsEnd);
    wait_for_work();
  }
}

}  // namespace weft::tools::run
