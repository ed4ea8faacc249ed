#include "bootstrap/relay/agent.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/host/host.hpp"
#include "base/system_call.hpp"
#include "bootstrap/job_id.hpp"
#include "bootstrap/local/rank_process.hpp"
#include "bootstrap/relay/relay.hpp"

namespace weft::bootstrap::relay {

using local::Header;
using local::Message;

namespace {

bool expects_answer(Message message) {
  return message != Message::leave && message != Message::ending && message != Message::loss &&
         message != Message::unreachable;
}

bool names_value(const local::Request& request, int size) {
  return (request.header.message == Message::try_get || request.header.message == Message::get) &&
         request.header.argument >= 0 && request.header.argument < size;
}

}  // namespace

/// A connection of a rank.
struct Agent::Client {
  int connection = 0;
  std::uint32_t stream = 0;
  int rank = -1;                          // -1 before hello
  std::optional<std::uint32_t> instance;  // once the root has welcomed it
  std::uint32_t hello = 0;                // request
  struct Wanted {
    int rank = -1;  // of a value; -1: the request is another one
    std::string key;
  };
  std::map<std::uint32_t, Wanted> open;  // requests that the root has not answered
};

Agent::Agent(std::string job_id, int size, sockets::Greeted to_root, std::string socket_name)
    : job_id_(std::move(job_id)),
      name_(socket_name.empty() ? local::socket_name(random_job_id()) : std::move(socket_name)),
      size_(size),
      most_lent_(local::RankConnections::most_lent()),
      link_(std::move(to_root), kLongestFrame),
      connections_(name_, *this) {}

Agent::~Agent() = default;

void Agent::serve() {
  link_.flush();
  link_.receive([this](const FrameHeader& frame, Bytes& payload) { return take(frame, payload); });
  connections_.serve();
}

void Agent::rank_ended(int rank, const std::string& how) {
  // The last messages of the rank may not have been read yet.
  std::vector<int> own;
  for (const auto& [connection, client] : clients_)
    if (client->rank == rank) own.push_back(connection);
  for (const int connection : own) connections_.receive(connection);
  link_.send({number_of(FrameKind::rank_ended), 0, rank, 0}, std::as_bytes(std::span(how)));
}

bool Agent::has_served(int ranks, bool is_late) const {
  const bool is_used = std::any_of(clients_.begin(), clients_.end(), [this](const auto& each) {
    return connections_.process_of(each.first) != ::getpid();
  });
  if (is_used || is_late) return !is_used;
  // A rank that goes on and has not joined what others have joined is between two runtimes.
  const auto is_to_join = [this](const auto& each) {
    if (each.second == ::getpid() || (each.second != 0 && !local::is_running(each.second))) return false;
    return std::any_of(instances_.begin(), instances_.end(), [rank = each.first](const auto& instance) {
      return !instance.second.joined.contains(rank);
    });
  };
  return processes_.size() >= static_cast<std::size_t>(ranks) &&
         (!why_lost_.empty() || std::none_of(processes_.begin(), processes_.end(), is_to_join));
}

void Agent::root_lost(std::string why) {
  why_lost_ = std::move(why);
  for (const auto& [number, instance] : instances_) instance.board->mark_failed(0);
  for (const auto& [connection, client] : clients_)
    for (const auto& [request, wanted] : std::exchange(client->open, {})) refuse(*client, request, why_lost_);
}

std::size_t Agent::open_requests() const {
  std::size_t count = 0;
  for (const auto& [connection, client] : clients_) count += client->open.size();
  return count;
}

std::optional<Agent::End> Agent::take_end() {
  if (ends_.empty()) return std::nullopt;
  End next = std::move(ends_.front());
  ends_.pop_front();
  return next;
}

// ---- from ranks

bool Agent::received(int connection, local::Request& request) {
  auto& client = clients_[connection];
  if (client == nullptr) {
    client = std::make_unique<Client>();
    client->connection = connection;
    client->stream = next_stream_++;
  }
  if (client->rank < 0) {
    if (request.header.message != Message::hello) return false;
    if (!hello(*client, request)) return true;
  } else if (answers_itself(*client, request)) {
    return true;
  }
  pass_on(*client, request);
  return true;
}

void Agent::pass_on(Client& client, const local::Request& request) {
  if (expects_answer(request.header.message)) {
    if (!why_lost_.empty()) return refuse(client, request.header.request, why_lost_);
    Client::Wanted& wanted = client.open[request.header.request];
    if (names_value(request, size_)) wanted = {request.header.argument, std::string(request.text())};
  }
  link_.send({number_of(FrameKind::message), client.stream, 0, 0},
             std::as_bytes(std::span(&request.header, 1)), request.payload);
}

/// Returns true when the root is to be asked.
bool Agent::hello(Client& client, const local::Request& request) {
  const int rank = request.header.argument;
  if (rank < 0 || rank >= size_) return true;  // the root knows what to say
  const pid_t process = connections_.process_of(client.connection);
  pid_t& known = processes_[rank];
  if (process != 0 && known != 0 && process != known && local::is_running(known)) {
    refuse(client, request.header.request, local::why_no_rank(process, rank, known));
    return false;
  }
  known = process;
  client.rank = rank;
  client.hello = request.header.request;
  return true;
}

/// Descriptors do not leave the host, and values that a rank of it has asked for stay here.
bool Agent::answers_itself(Client& client, local::Request& request) {
  const Header& header = request.header;
  if (names_value(request, size_) && client.instance.has_value()) {
    Bytes value;
    if (board_of(*client.instance).look_up(header.argument, request.text(), value) !=
        local::Board::Lookup::value)
      return false;
    const Header found{static_cast<std::uint32_t>(value.size()), header.request, Message::done, 0};
    connections_.send(client.connection, found, std::make_shared<Bytes>(std::move(value)));
    return true;
  }
  if (header.message != Message::lend && header.message != Message::take_back &&
      header.message != Message::borrow)
    return false;
  if (!client.instance.has_value()) return false;
  Header answer{.length = 0, .request = header.request, .message = Message::done, .argument = 0};
  const std::string key(request.text());
  std::shared_ptr<const local::Descriptor> passed;
  if (header.message == Message::borrow) {
    const auto found = lent_.find({*client.instance, {header.argument, key}});
    if (found == lent_.end())
      answer.message = Message::missing;
    else
      passed = found->second;
  } else if (header.message == Message::take_back) {
    lent_.erase({*client.instance, {client.rank, key}});
  } else if (!request.passed || key.empty() || key.size() > kMaximumKey) {
    refuse(client, header.request, "the launcher received a loan without key or descriptor");
    return true;
  } else if (lent_.size() >= most_lent_) {
    answer.message = Message::missing;
  } else {
    lent_[{*client.instance, {client.rank, key}}] =
        std::make_shared<const local::Descriptor>(std::move(request.passed));
  }
  connections_.send(client.connection, answer, nullptr, std::move(passed));
  return true;
}

void Agent::refuse(const Client& client, std::uint32_t request, const std::string& why) {
  const auto bytes = std::as_bytes(std::span(why));
  const Header answer{.length = static_cast<std::uint32_t>(bytes.size()),
                      .request = request,
                      .message = Message::failed,
                      .argument = 0};
  connections_.send(client.connection, answer, std::make_shared<Bytes>(bytes.begin(), bytes.end()));
}

std::size_t Agent::longest_request(int connection) const {
  const auto found = clients_.find(connection);
  return found == clients_.end() || found->second->rank < 0 ? local::kMaximumHello : local::kMaximumRequest;
}

void Agent::closed(int connection) {
  const auto found = clients_.find(connection);
  if (found == clients_.end()) return;
  const Client& client = *found->second;
  link_.send({number_of(FrameKind::closed), client.stream, 0, 0});
  if (client.instance.has_value())
    std::erase_if(lent_, [&](const auto& each) {
      return each.first.first == *client.instance && each.first.second.first == client.rank;
    });
  clients_.erase(found);
}

// ---- from the root

bool Agent::take(const FrameHeader& frame, Bytes& payload) {
  switch (static_cast<FrameKind>(frame.kind)) {
    case FrameKind::message: {
      Header header;
      if (payload.size() < sizeof header) break;
      std::memcpy(&header, payload.data(), sizeof header);
      if (header.length != payload.size() - sizeof header) break;
      Client* const client = find_stream(frame.stream);
      if (client == nullptr) return true;  // it has ended meanwhile
      payload.erase(payload.begin(), payload.begin() + sizeof header);
      if (const auto open = client->open.find(header.request); open != client->open.end()) {
        const auto& [rank, key] = open->second;
        if (rank >= 0 && header.message == Message::done && client->instance.has_value())
          board_of(*client->instance).publish(rank, key, payload);
        client->open.erase(open);
      }
      if (header.message == Message::done && header.request == client->hello && !client->instance.has_value())
        return welcome(*client, header, std::move(payload));
      connections_.send(client->connection, header, std::make_shared<Bytes>(std::move(payload)));
      return true;
    }
    case FrameKind::closed:
      // The rank sees its connection end when it has read what was sent before.
      if (Client* const client = find_stream(frame.stream); client != nullptr)
        connections_.close(client->connection);
      return true;
    case FrameKind::departed:
      if (payload.size() != 1 || frame.argument < 0 || frame.argument >= size_) break;
      depart(frame.stream, frame.argument, payload[0] != std::byte{0});
      return true;
    case FrameKind::end_rank: {
      const auto process = processes_.find(frame.argument);
      ends_.push_back({frame.argument,
                       process == processes_.end() ? 0 : process->second,
                       {reinterpret_cast<const char*>(payload.data()), payload.size()}});
      return true;
    }
    case FrameKind::rank_ended:
      break;
  }
  link_.end("the root has sent a frame of kind " + std::to_string(frame.kind) + " that cannot be");
  return false;
}

/// Completes the root's welcome with what is of this host.
bool Agent::welcome(Client& client, const Header& header, Bytes payload) {
  local::Welcome content{};
  if (payload.size() < sizeof content) {
    link_.end("the root has sent a welcome that is cut off");
    return false;
  }
  std::memcpy(&content, payload.data(), sizeof content);
  content.user_namespace = base::read_user_namespace();
  content.pid_namespace = base::read_pid_namespace();
  std::memcpy(payload.data(), &content, sizeof content);
  client.instance = content.instance;
  instance_of(content.instance).joined.insert(client.rank);
  auto board = std::make_shared<const local::Descriptor>(
      ::fcntl(board_of(content.instance).descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!*board)
    refuse(client, header.request,
           "the launcher cannot pass on its board: " + base::failed_call("fcntl(F_DUPFD)", errno));
  else
    connections_.send(client.connection, header, std::make_shared<Bytes>(std::move(payload)),
                      std::move(board));
  return true;
}

void Agent::depart(std::uint32_t instance, int rank, bool has_failed) {
  local::Board& board = board_of(instance);
  if (has_failed)
    board.mark_failed(rank);
  else
    board.mark_left(rank);
  // Ranks have mapped it; who would join now is refused by the root.
  if (board.departures().load(std::memory_order_relaxed) == static_cast<std::uint32_t>(size_))
    instances_.erase(instance);
}

Agent::Instance& Agent::instance_of(std::uint32_t number) {
  Instance& instance = instances_[number];
  if (instance.board == nullptr)
    instance.board = std::make_unique<local::Board>(job_id_, size_, local::Board::Holds::some);
  return instance;
}

Agent::Client* Agent::find_stream(std::uint32_t stream) {
  const auto found = std::find_if(clients_.begin(), clients_.end(),
                                  [stream](const auto& each) { return each.second->stream == stream; });
  return found == clients_.end() ? nullptr : found->second.get();
}

}  // namespace weft::bootstrap::relay
