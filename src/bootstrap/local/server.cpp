#include "bootstrap/local/server.hpp"

#include <weft/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/clock.hpp"
#include "bootstrap/job_id.hpp"
#include "bootstrap/local/rank_process.hpp"
#include "bootstrap/local/server_state.hpp"

namespace weft::bootstrap::local {
namespace {

constexpr double kDepartureGrace = 0.3;  // seconds; failures are promised within one second

}  // namespace

Server::Server(std::string job_id, int size, std::vector<std::int32_t> host_of, const Secret& secret,
               std::string socket_name)
    : job_id_(std::move(job_id)),
      secret_(secret),
      name_(socket_name.empty() ? local::socket_name(job_id_) : std::move(socket_name)),
      size_(size),
      host_of_(std::move(host_of)),
      connections_(name_, *this),
      joins_(static_cast<std::size_t>(size)),
      loans_(RankConnections::most_lent()),
      findings_(size) {}

Server::~Server() = default;

int Server::timeout_ms() const {
  if (departures_.empty() && reports_.empty()) return -1;
  std::int64_t due = std::numeric_limits<std::int64_t>::max();
  if (!departures_.empty()) due = departures_.front().due_ns;
  if (!reports_.empty()) due = std::min(due, reports_.front().due_ns);
  const std::int64_t left = due - base::now_ns();
  return left <= 0 ? 0 : static_cast<int>(left / 1'000'000) + 1;
}

void Server::serve() {
  decide_reports();
  while (!departures_.empty() && departures_.front().due_ns <= base::now_ns()) {
    const Departure departure = departures_.front();
    departures_.pop_front();
    if (auto& instance = instances_[departure.instance]) {
      if (instance->member(departure.rank) == Membership::lost)
        instance->member(departure.rank) = Membership::cut_off;
      leave(*instance, departure.rank, "has left the job (its runtime ended)");
    }
  }

  connections_.serve();
}

bool Server::received(int key, Request& request) {
  auto& connection = clients_[key];
  if (connection == nullptr) {
    connection = std::make_unique<Connection>();
    connection->key = key;
  }
  connection->header = request.header;
  connection->payload = std::move(request.payload);
  connection->passed = std::move(request.passed);
  const bool goes_on = handle(*connection);
  connection->payload = {};
  connection->passed.close();
  return goes_on;
}

bool Server::has_served_all(bool is_late) const {
  // What this process itself has left open does not count: it is ending.
  const bool is_used = std::any_of(clients_.begin(), clients_.end(), [this](const auto& each) {
    return each.second->ranks != nullptr || connections_.process_of(each.first) != ::getpid();
  });
  if (is_used || is_late) return !is_used;
  // A rank that goes on and has not joined what others have joined is between two runtimes.
  const auto is_to_join = [this](int rank) {
    const pid_t process = process_of(rank);
    if (ended_.contains(rank) || process == ::getpid() || (process != 0 && !is_running(process)))
      return false;
    return std::any_of(instances_.begin(), instances_.end(), [rank](const auto& instance) {
      return instance != nullptr && instance->member(rank) == Membership::absent;
    });
  };
  for (int rank = 0; rank < size_; ++rank)
    if (!has_joined(rank) || is_to_join(rank)) return false;
  return true;
}

std::size_t Server::longest_request(int key) const {
  const auto found = clients_.find(key);
  return found == clients_.end() || found->second->rank < 0 ? kMaximumHello : kMaximumRequest;
}

void Server::leave(Instance& instance, int rank, std::string how) {
  if (instance.exchange.has_left(rank)) return;
  instance.exchange.leave(rank, std::move(how));
  ++instance.left;
  loans_.take_back_all({instance.number, rank});
  settle_all(instance);
  if (instance.left < size_) return;
  stored_bytes_ -= instance.stored_bytes;
  instances_[instance.number].reset();
}

/// The first report counts; one by a rank that has been declared failed itself does not.
void Server::decide_reports() {
  while (!reports_.empty() && reports_.front().due_ns <= base::now_ns()) {
    const Report report = std::move(reports_.front());
    reports_.pop_front();
    const auto& instance = instances_[report.instance];
    if (instance == nullptr || instance->member(report.about.rank) != Membership::joined ||
        instance->member(report.about.by) != Membership::joined)
      continue;
    instance->member(report.about.rank) = Membership::unreachable;
    instance->mark_failed(report.about.rank, hosts_);
    findings_.add(report.about);
    leave(*instance, report.about.rank,
          "could not be reached by rank " + std::to_string(report.about.by) + ": " + report.about.why);
  }
}

void Server::rank_ended(int rank, std::string how) {
  ended_.emplace(rank, how);
  // The last messages of the rank may not have been read yet.
  std::vector<int> keys;
  for (const auto& [key, connection] : clients_)
    if (connection->rank == rank && connection->ranks == nullptr) keys.push_back(key);
  for (const int key : keys) connections_.receive(key);
  bool has_stayed = false;
  bool is_cut_off = false;
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    if (instances_[i] == nullptr) continue;
    Instance& instance = *instances_[i];
    const Membership member = instance.member(rank);
    has_stayed = has_stayed || member == Membership::joined || member == Membership::lost ||
                 member == Membership::cut_off;
    is_cut_off = is_cut_off || member == Membership::cut_off;
    if (member == Membership::joined || member == Membership::absent) instance.mark_failed(rank, hosts_);
    find_absent(instance);
    leave(instance, rank, how);
  }
  if (has_stayed) findings_.add(Findings::Unfinished{rank, true, -1, is_cut_off});
}

/// Finds ranks that have ended and never joined, though others have joined this instance.
void Server::find_absent(const Instance& instance) {
  const int other = instance.any_member();
  if (other < 0) return;
  for (const auto& [rank, how] : ended_)
    if (!has_joined(rank)) findings_.add(Findings::Unfinished{rank, false, other});
}

void Server::answer(Connection& connection, std::uint32_t request, Message message,
                    std::shared_ptr<const Bytes> payload, std::shared_ptr<const Descriptor> descriptor) {
  const Header header{.length = static_cast<std::uint32_t>(payload == nullptr ? 0 : payload->size()),
                      .request = request,
                      .message = message,
                      .argument = 0};
  if (connection.ranks != nullptr)
    connection.ranks->answer(connection.stream, header, payload.get());
  else
    connections_.send(connection.key, header, std::move(payload), std::move(descriptor));
}

void Server::refuse(Connection& connection, std::uint32_t request, std::string_view text) {
  const auto bytes = std::as_bytes(std::span{text});
  answer(connection, request, Message::failed, std::make_shared<Bytes>(bytes.begin(), bytes.end()));
}

void Server::closed(int key) {
  const auto found = clients_.find(key);
  if (found == clients_.end()) return;  // it has sent nothing
  const int rank = found->second->rank;
  const std::uint32_t number = found->second->instance;
  clients_.erase(found);
  if (rank < 0 || instances_[number] == nullptr) return;
  Instance& instance = *instances_[number];
  if (instance.member(rank) == Membership::joined) {
    instance.member(rank) = Membership::lost;
    instance.mark_failed(rank, hosts_);
  }
  const auto is_of_closed = [key](const auto& entry) { return entry.second.connection == key; };
  std::erase_if(instance.getters, is_of_closed);
  std::erase_if(instance.gatherers, is_of_closed);
  if (const auto end = ended_.find(rank); end != ended_.end()) {
    leave(instance, rank, end->second);
  } else {
    departures_.push_back({number, rank, base::now_ns() + base::seconds_to_ns(kDepartureGrace)});
  }
}

}  // namespace weft::bootstrap::local
