// Hosts that have not joined yet: how far each has come, and why one does not come.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text/parse.hpp"
#include "run/hosts/remote_agent.hpp"

namespace weft::tools::run {

namespace {

constexpr double kTimeToReport = 5.0;  // seconds in which an agent reports why it does not reach this process

/// What was printed, in one line.
std::string line_of(std::string words) {
  while (!words.empty() && words.back() == '\n') words.pop_back();
  std::replace(words.begin(), words.end(), '\n', ' ');
  return words;
}

/// Takes the line out of what was printed.
bool take_line(std::string& words, std::string_view line) {
  const std::size_t begin = words.find(line);
  if (begin == std::string::npos || (begin != 0 && words[begin - 1] != '\n')) return false;
  const std::size_t end = words.find('\n', begin);
  if (end == std::string::npos) return false;
  words.erase(begin, end - begin + 1);
  return true;
}

}  // namespace

void RemoteJob::note_stage(Agent& agent) {
  if (agent.stage == StartStage::begun && take_line(agent.words, kShellBegins))
    agent.stage = StartStage::shell;
  if (agent.stage != StartStage::agent && take_line(agent.words, kAgentBegins)) {
    agent.stage = StartStage::agent;
    // It has as long as the shell of its host had, and then reports what it has tried.
    agent.contact = base::Deadline(contact_seconds_ + kTimeToReport);
  }
}

bool RemoteJob::process_ended(pid_t process, const std::string& how) {
  const auto found = std::find_if(agents_.begin(), agents_.end(),
                                  [process](const auto& each) { return each->started.process == process; });
  if (found == agents_.end()) return false;
  Agent& agent = **found;
  agent.started.process = 0;
  read_words(agent);
  if (!agent.is_awaited()) return true;  // its connections report its end, or have done so
  const char* when = "before its agent began";
  if (agent.stage == StartStage::shell)
    when = "in the shell of the host, before its agent began";
  else if (agent.stage == StartStage::agent)
    when = "after its agent began, which has not joined";
  const std::string words = line_of(agent.words);
  give_up(agent, 1,
          fmt::format("\"{}\" {} {}{}", agent.command, how, when, words.empty() ? "" : ": " + words));
  return true;
}

void RemoteJob::give_up(Agent& agent, int exit_code, const std::string& why) {
  agent.is_lost = true;
  events_.push_back({RemoteEvent::Kind::trouble, -1, exit_code,
                     fmt::format("host {} could not be joined to the job: {}", agent.host.name, why)});
}

std::int64_t RemoteJob::remaining_ms() {
  if (!events_.empty()) return 0;
  std::int64_t least = -1;
  const auto consider = [&least](std::int64_t candidate) {
    if (candidate >= 0) least = least < 0 ? candidate : std::min(least, candidate);
  };
  for (const auto& agent : agents_) {
    if (agent->is_awaited()) consider(agent->contact.remaining_ms());
    if (agent->link != nullptr) consider(agent->link->look_after());
    if (agent->bootstrap != nullptr) consider(agent->bootstrap->link().look_after());
  }
  if (may_read_input()) consider(input_->remaining_ms());
  return least;
}

/// Only what has been seen.
std::string RemoteJob::stage_text(const Agent& agent) const {
  const std::string words = line_of(agent.words);
  const std::string printed = words.empty() ? "" : fmt::format(" (it has printed: {})", words);
  if (agent.bootstrap != nullptr || agent.link != nullptr)
    return "its agent has made one of its two connections to this process, and not the other" + printed;
  switch (agent.stage) {
    case StartStage::begun:
      return fmt::format("\"{}\" runs, and nothing has come from the host{}", agent.command, printed);
    case StartStage::shell:
      return fmt::format("its shell has begun, and the agent that \"{}\" starts has not{}", agent.command,
                         printed);
    case StartStage::agent:
      break;
  }
  return fmt::format("its agent has begun, and has not reached port {} of {} (--ports, --interface){}",
                     acceptor_.port(), sockets::to_text(interfaces_), printed);
}

void RemoteJob::check_time() {
  const auto is_late = [](const auto& agent) { return agent->is_awaited() && agent->contact.passed(); };
  if (std::none_of(agents_.begin(), agents_.end(), is_late)) return;
  std::string missing;
  for (const auto& agent : agents_) {
    if (!agent->is_awaited()) continue;
    missing +=
        fmt::format("{}{} (ranks {} to {}): {}", missing.empty() ? "" : "; ", agent->host.name, agent->first,
                    agent->first + static_cast<int>(agent->ranks.size()) - 1, stage_text(*agent));
    agent->is_lost = true;
  }
  events_.push_back(
      {RemoteEvent::Kind::trouble, -1, 1,
       fmt::format("these hosts have not joined the job within {} s (WEFT_BOOTSTRAP_TIMEOUT): {}",
                   base::seconds_text(contact_seconds_), missing)});
}

}  // namespace weft::tools::run
