// What agents send, and what is passed on to them.
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "run/hosts/frames.hpp"
#include "run/hosts/remote_agent.hpp"
#include "sockets/tcp_socket.hpp"

namespace weft::tools::run {

using bootstrap::relay::FrameHeader;
using bootstrap::relay::FrameLink;

namespace {

constexpr std::size_t kMostWords = 4096;  // of what an agent has printed
constexpr std::size_t kPiece = std::size_t{64} << 10;

}  // namespace

void RemoteJob::work() {
  acceptor_.serve();
  adopt_connections();
  for (const auto& agent : agents_) work_for(*agent);
  pass_input();
  check_time();
}

void RemoteJob::adopt_connections() {
  for (std::size_t inbox = 0; inbox < inboxes_.size(); ++inbox) {
    for (sockets::Accepted* each = inboxes_[inbox].take_all(); each != nullptr;) {
      const std::unique_ptr<sockets::Accepted> accepted(each);
      each = each->next;
      const std::uint32_t number = accepted->introduction.from_rank;
      const bool is_bootstrap = inbox == static_cast<std::size_t>(AgentInbox::bootstrap);
      if (number >= agents_.size()) continue;
      Agent& agent = *agents_[number];
      if (agent.is_lost || (is_bootstrap ? agent.bootstrap != nullptr : agent.link != nullptr)) continue;
      const int socket = accepted->socket.get();
      const sockets::Answer answer = sockets::make_answer(sockets::Verdict::accepted, accepted->keys);
      if (::send(socket, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT) !=
          static_cast<ssize_t>(sizeof answer))
        continue;
      sockets::Greeted greeted{std::move(accepted->socket), accepted->keys};
      if (is_bootstrap)
        agent.bootstrap =
            std::make_unique<bootstrap::relay::RemoteHost>(server_, agent.number, std::move(greeted));
      else
        agent.link = std::make_unique<FrameLink>(std::move(greeted), kLongestJobFrame);
      (is_bootstrap ? agent.bootstrap->link() : *agent.link).watch(peer_timeout_);
    }
  }
}

void RemoteJob::work_for(Agent& agent) {
  if (agent.is_lost) return pass_output(agent);
  write_description(agent);
  read_words(agent);
  if (agent.bootstrap != nullptr) agent.bootstrap->serve();
  if (agent.link == nullptr) return;
  agent.link->flush();
  agent.link->receive(
      [&](const FrameHeader& frame, std::vector<std::byte>& payload) { return take(agent, frame, payload); });
  pass_output(agent);
  std::erase_if(agent.ends, [&](RemoteEvent& end) {
    if (agent.bootstrap == nullptr || !agent.bootstrap->has_ended(end.rank)) return false;
    events_.push_back(std::move(end));
    return true;
  });
  pass_explanations(agent);
  if (agent.link->has_ended())
    lose(agent, agent.link->why_ended());
  else if (agent.bootstrap != nullptr && agent.bootstrap->link().has_ended())
    lose(agent, agent.bootstrap->link().why_ended());
}

void RemoteJob::write_description(Agent& agent) {
  while (!agent.unsent.empty() && agent.started.input) {
    const ssize_t written = ::write(agent.started.input.get(), agent.unsent.data(), agent.unsent.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return;
    if (written < 0) {  // its end will say why
      agent.unsent.clear();
      return;
    }
    agent.unsent.erase(0, static_cast<std::size_t>(written));
  }
}

/// What the agent, or the program that starts it, prints is the user's to see: at once when the agent has
/// joined, and with the reason when it has not.
void RemoteJob::read_words(Agent& agent) {
  std::array<char, 4096> piece;
  while (agent.started.output) {
    const ssize_t got = ::read(agent.started.output.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) {
      agent.started.output.close();
      break;
    }
    agent.words.append(piece.data(), static_cast<std::size_t>(got));
    if (agent.words.size() > kMostWords) agent.words.erase(0, agent.words.size() - kMostWords);
  }
  note_stage(agent);
  if (!agent.is_joined()) return;
  for (std::size_t end = agent.words.find('\n'); end != std::string::npos; end = agent.words.find('\n')) {
    outputs_[static_cast<std::size_t>(OutputStream::errors)]->say(
        fmt::format("{}: {}", agent.host.name, agent.words.substr(0, end)));
    agent.words.erase(0, end + 1);
  }
}

/// Returns false when nothing more is to be read now.
bool RemoteJob::take(Agent& agent, const FrameHeader& frame, std::vector<std::byte>& payload) {
  const int local_rank = frame.argument - agent.first;
  const auto kind = static_cast<JobFrame>(frame.kind);
  if (kind == JobFrame::trouble) {
    events_.push_back({RemoteEvent::Kind::trouble, -1, frame.argument,
                       std::string(reinterpret_cast<const char*>(payload.data()), payload.size())});
    return true;
  }
  if (kind == JobFrame::input_taken) {
    may_send_input_ = true;
    if (frame.stream != 0 && input_) {  // whoever writes there learns that nobody reads
      input_->close();
      has_sent_all_input_ = true;
    }
    return true;
  }
  if (local_rank < 0 || local_rank >= static_cast<int>(agent.ranks.size())) {
    agent.link->end("it has told something of rank " + std::to_string(frame.argument) +
                    ", which is not its own");
    return false;
  }
  RemoteRank& rank = agent.ranks[static_cast<std::size_t>(local_rank)];
  switch (kind) {
    case JobFrame::started:
      events_.push_back({RemoteEvent::Kind::started, frame.argument, static_cast<int>(frame.stream)});
      return true;
    case JobFrame::output:
      take_output(agent, OutputStream::output, frame.argument, payload);
      return true;
    case JobFrame::errors:
      take_output(agent, OutputStream::errors, frame.argument, payload);
      return true;
    case JobFrame::ended:
      // What the rank has sent to the server before comes over another connection.
      if (!std::exchange(rank.has_ended, true))
        agent.ends.push_back({RemoteEvent::Kind::ended, frame.argument, static_cast<int>(frame.stream)});
      return true;
    case JobFrame::report:
      if (rank.explain)
        static_cast<void>(
            ::send(rank.explain.get(), payload.data(), payload.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
      return true;
    default:
      agent.link->end("it has sent a frame of kind " + std::to_string(frame.kind) + " that cannot be");
      return false;
  }
}

void RemoteJob::take_output(Agent& agent, OutputStream stream, int rank, std::vector<std::byte>& piece) {
  Arrived& arrived = agent.arrived[static_cast<std::size_t>(stream)];
  if (piece.size() > kOutputWindow - arrived.bytes - arrived.credited)
    return agent.link->end("it has sent more output than it may");
  arrived.bytes += piece.size();
  arrived.pieces.push_back({rank, std::move(piece)});
}

/// While a reader pauses, its pieces stay here, and their agent sends no more of them than it has
/// credit for.
void RemoteJob::pass_output(Agent& agent) {
  for (std::size_t stream = 0; stream < kOutputStreams; ++stream) {
    Arrived& arrived = agent.arrived[stream];
    Output& output = *outputs_[stream];
    for (; !arrived.pieces.empty() && output.wants_input(); arrived.pieces.pop_front()) {
      const auto& [rank, bytes] = arrived.pieces.front();
      if (bytes.empty())
        output.take_end(rank);
      else
        output.take(rank, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      arrived.bytes -= bytes.size();
      arrived.credited += bytes.size();
    }
    if (agent.link == nullptr || agent.link->has_ended()) continue;
    if (arrived.credited > (arrived.pieces.empty() ? 0 : kOutputWindow / 4)) {
      agent.link->send({static_cast<std::uint32_t>(JobFrame::taken), static_cast<std::uint32_t>(stream),
                        static_cast<std::int32_t>(std::exchange(arrived.credited, 0)), 0});
    }
    if (output.has_no_reader() && !std::exchange(arrived.has_sent_unread, true))
      agent.link->send(
          {static_cast<std::uint32_t>(JobFrame::unread), static_cast<std::uint32_t>(stream), 0, 0});
  }
}

void RemoteJob::pass_explanations(Agent& agent) {
  for (std::size_t local_rank = 0; local_rank < agent.ranks.size(); ++local_rank) {
    RemoteRank& rank = agent.ranks[local_rank];
    std::array<std::byte, 16> request;
    if (!rank.explain) continue;
    const ssize_t got = ::recv(rank.explain.get(), request.data(), request.size(), MSG_DONTWAIT);
    if (got > 0)
      agent.link->send(
          {static_cast<std::uint32_t>(JobFrame::explain), 0, agent.first + static_cast<int>(local_rank), 0},
          std::span(request).first(static_cast<std::size_t>(got)));
  }
}

/// Rank 0 has the job's standard input: a piece at a time, so that nothing is read that nobody takes.
void RemoteJob::pass_input() {
  if (!may_read_input()) return;
  std::array<std::byte, kPiece> piece;
  const ssize_t got = input_->read(piece);
  if (got < 0) return;
  const auto size = static_cast<std::size_t>(got);
  agents_.front()->link->send({static_cast<std::uint32_t>(JobFrame::input), 0, 0, 0},
                              std::span(piece).first(size));
  may_send_input_ = false;
  has_sent_all_input_ = size == 0;
}

void RemoteJob::lose(Agent& agent, std::string why) {
  if (std::exchange(agent.is_lost, true)) return;
  agent.bootstrap.reset();
  for (RemoteEvent& end : agent.ends) events_.push_back(std::move(end));
  agent.ends.clear();
  for (std::size_t local_rank = 0; local_rank < agent.ranks.size(); ++local_rank) {
    RemoteRank& rank = agent.ranks[local_rank];
    rank.explain.close();
    for (Arrived& arrived : agent.arrived)  // the last line may lack its end
      arrived.pieces.push_back({agent.first + static_cast<int>(local_rank), {}});
    if (!std::exchange(rank.has_ended, true))
      events_.push_back({RemoteEvent::Kind::lost, agent.first + static_cast<int>(local_rank), 0,
                         fmt::format("was lost with the agent of its host {}: {}", agent.host.name, why)});
  }
  pass_output(agent);  // nothing else may come that has it passed on
}

}  // namespace weft::tools::run
