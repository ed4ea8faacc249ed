// The requests of ranks, and the answers to requests that wait.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/clock.hpp"
#include "base/host/host.hpp"
#include "base/system_call.hpp"
#include "bootstrap/job_id.hpp"
#include "bootstrap/local/rank_process.hpp"
#include "bootstrap/local/server_state.hpp"

namespace weft::bootstrap::local {
namespace {

constexpr std::size_t kMaximumStored = std::size_t{1} << 30;

}  // namespace

// Handles a request. Returns false when the connection must be closed.
bool Server::handle(Connection& connection) {
  const Header& header = connection.header;
  if (connection.rank < 0) return header.message == Message::hello && hello(connection);
  if (instances_[connection.instance] == nullptr) return false;

  switch (header.message) {
    case Message::put:
      put(connection);
      return true;
    case Message::try_get:
      get(connection, false);
      return true;
    case Message::get:
      get(connection, true);
      return true;
    case Message::barrier:
      collective(connection, CollectiveKind::barrier);
      return true;
    case Message::allgather:
      collective(connection, CollectiveKind::allgather);
      return true;
    case Message::lend:
    case Message::take_back:
    case Message::borrow:
      loan(connection);
      return true;
    case Message::abort:
      findings_.abort(connection.rank, header.argument, std::string(connection.text()));
      answer(connection, header.request, Message::done, nullptr);
      return true;
    case Message::leave:
      if (Membership& member = instances_[connection.instance]->member(connection.rank);
          member == Membership::joined) {
        member = Membership::left;
        instances_[connection.instance]->mark_left(connection.rank, hosts_);
      }
      return false;
    case Message::ending:
      instances_[connection.instance]->exchange.begin_to_leave(connection.rank,
                                                               "has left the job (its runtime ended)");
      settle_all(*instances_[connection.instance]);
      return true;
    case Message::unreachable:
      report_unreachable(connection);
      return true;
    case Message::agree:
      agree(connection);
      return true;
    case Message::loss:
      findings_.add(Findings::Loss{connection.rank, std::string(connection.text())});
      return true;
    default:
      return false;  // messages that this protocol does not have
  }
}

bool Server::hello(Connection& connection) {
  const Header& header = connection.header;
  const int rank = header.argument;
  if (connection.text().substr(0, job_id_.size()) != job_id_ || rank < 0 || rank >= size_ ||
      (connection.ranks != nullptr && !is_of(*connection.ranks, rank))) {
    refuse(connection, header.request,
           "the launcher does not know this job or rank: check WEFT_JOB and WEFT_RANK");
    return true;
  }
  Joins& joins = joins_[static_cast<std::size_t>(rank)];
  // Of a rank on another host its agent has checked the same.
  const pid_t process = connection.ranks == nullptr ? connections_.process_of(connection.key) : 0;
  if (process != 0 && joins.process != 0 && process != joins.process && is_running(joins.process)) {
    refuse(connection, header.request, why_no_rank(process, rank, joins.process));
    return true;
  }
  joins.process = process;
  const std::string name{connection.text(job_id_.size())};
  const auto [known, is_new] =
      numbers_.try_emplace({name, joins.by_name[name]++}, static_cast<std::uint32_t>(instances_.size()));
  const std::uint32_t number = known->second;
  if (is_new) {
    instances_.push_back(std::make_unique<Instance>(number, job_id_, size_));
    Instance& created = *instances_.back();
    for (const auto& [ended_rank, how] : ended_) {
      created.exchange.leave(ended_rank, how);
      created.mark_failed(ended_rank, hosts_);
      ++created.left;
    }
  }
  if (instances_[number] == nullptr || instances_[number]->exchange.has_left(rank)) {
    refuse(connection, header.request,
           "rank " + std::to_string(rank) + " joins the job after its process has ended");
    return true;
  }
  connection.rank = rank;
  connection.instance = number;
  instances_[number]->member(rank) = Membership::joined;
  find_absent(*instances_[number]);
  const Welcome welcome{number, 0, base::read_user_namespace(), base::read_pid_namespace(), secret_};
  auto payload = std::make_shared<Bytes>(sizeof welcome + host_of_.size() * sizeof(std::int32_t));
  std::memcpy(payload->data(), &welcome, sizeof welcome);
  if (!host_of_.empty())
    std::memcpy(payload->data() + sizeof welcome, host_of_.data(), payload->size() - sizeof welcome);
  if (connection.ranks != nullptr) {
    answer(connection, header.request, Message::done, std::move(payload));  // its host has a board of its own
    return true;
  }
  // Passed as a descriptor, not by the number of a process or file: ranks may see another /proc, or none.
  auto board =
      std::make_shared<const Descriptor>(::fcntl(instances_[number]->board.descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!*board)
    refuse(connection, header.request,
           "the launcher cannot pass on its board: " + base::failed_call("fcntl(F_DUPFD)", errno));
  else
    answer(connection, header.request, Message::done, std::move(payload), std::move(board));
  return true;
}

void Server::agree(Connection& connection) {
  Instance& instance = *instances_[connection.instance];
  const int rank = connection.rank;
  const std::string why = instance.agreement.state(rank, connection.text());
  if (why.empty()) return answer(connection, connection.header.request, Message::done, nullptr);
  refuse(connection, connection.header.request, why);
  if (instance.member(rank) != Membership::joined) return;
  instance.member(rank) = Membership::refused;
  instance.mark_failed(rank, hosts_);
  findings_.add(Findings::Refused{rank, why});
  leave(instance, rank, "cannot take part (" + why + ")");  // which may be the end of the instance
}

void Server::report_unreachable(Connection& connection) {
  constexpr std::int64_t kGrace = 300'000'000;  // nanoseconds
  const int rank = connection.header.argument;
  if (rank < 0 || rank >= size_ || rank == connection.rank) return;
  reports_.push_back({connection.instance,
                      {rank, connection.rank, std::string(connection.text())},
                      base::now_ns() + kGrace});
}

void Server::loan(Connection& connection) {
  const Header& header = connection.header;
  const Loans::Lender own{connection.instance, connection.rank};
  const std::string key{connection.text()};
  if (header.message == Message::lend) {
    if (!connection.passed || key.empty() || key.size() > kMaximumKey)
      return refuse(connection, header.request, "the launcher received a loan without key or descriptor");
    const bool is_lent = loans_.lend(own, key, std::move(connection.passed));
    return answer(connection, header.request, is_lent ? Message::done : Message::missing, nullptr);
  }
  if (header.message == Message::take_back) {
    loans_.take_back(own, key);
    return answer(connection, header.request, Message::done, nullptr);
  }
  auto lent = loans_.find({connection.instance, header.argument}, key);
  const Message found = lent != nullptr ? Message::done : Message::missing;
  answer(connection, header.request, found, nullptr, std::move(lent));
}

void Server::put(Connection& connection) {
  const Header& header = connection.header;
  Instance& instance = *instances_[connection.instance];
  const auto key_length = static_cast<std::size_t>(std::max(header.argument, 0));
  if (key_length == 0 || key_length > kMaximumKey || key_length > connection.payload.size()) {
    refuse(connection, header.request, "the launcher received a put with a key of impossible length");
    return;
  }
  const std::string key{connection.text().substr(0, key_length)};
  const std::span<const std::byte> value = std::span{connection.payload}.subspan(key_length);
  if (stored_bytes_ + connection.payload.size() > kMaximumStored) {
    refuse(connection, header.request,
           "rank " + std::to_string(connection.rank) + " publishes \"" + key + "\" beyond the " +
               std::to_string(kMaximumStored) + " bytes that the launcher keeps for a job");
    return;
  }
  if (!instance.exchange.put(connection.rank, key, value)) {
    refuse(connection, header.request,
           "rank " + std::to_string(connection.rank) + " publishes \"" + key +
               "\" a second time: a key is published once");
    return;
  }
  stored_bytes_ += connection.payload.size();
  instance.stored_bytes += connection.payload.size();
  instance.board.publish(connection.rank, key, value);
  answer(connection, header.request, Message::done, nullptr);

  const auto [first, last] =
      instance.getters.equal_range(std::pair<int, std::string_view>{connection.rank, key});
  for (auto getter = first; getter != last; ++getter) settle(instance, getter->second);
  instance.getters.erase(first, last);
}

void Server::get(Connection& connection, bool waits) {
  const Header& header = connection.header;
  Instance& instance = *instances_[connection.instance];
  if (header.argument < 0 || header.argument >= size_ || connection.text().size() > kMaximumKey) {
    refuse(connection, header.request, "the launcher received a get with a rank or key that cannot exist");
    return;
  }
  const Waiter waiter{.connection = connection.key,
                      .request = header.request,
                      .rank = connection.rank,
                      .target = header.argument,
                      .key = std::string(connection.text())};
  if (!waits && instance.exchange.find(waiter.target, waiter.key) == nullptr) {
    answer(connection, header.request, Message::missing, nullptr);
  } else if (!settle(instance, waiter)) {
    instance.getters.emplace(std::pair{waiter.target, waiter.key}, waiter);
  }
}

void Server::collective(Connection& connection, CollectiveKind kind) {
  Instance& instance = *instances_[connection.instance];
  if (kind == CollectiveKind::allgather &&
      connection.payload.size() * static_cast<std::size_t>(size_) > kMaximumGathered) {
    refuse(connection, connection.header.request, "the launcher received an allgather beyond its limit");
    return;
  }
  const std::uint64_t number = instance.exchange.arrive(connection.rank, kind, connection.payload);
  instance.gatherers.emplace(number, Waiter{.connection = connection.key,
                                            .request = connection.header.request,
                                            .rank = connection.rank,
                                            .number = number});
  if (instance.exchange.is_decided(number)) settle_collective(instance, number);
}

void Server::settle_collective(Instance& instance, std::uint64_t number) {
  const auto [first, last] = instance.gatherers.equal_range(number);
  for (auto gatherer = first; gatherer != last; ++gatherer) settle(instance, gatherer->second);
  instance.gatherers.erase(first, last);
}

void Server::settle_all(Instance& instance) {
  std::erase_if(instance.getters, [&](const auto& entry) { return settle(instance, entry.second); });
  std::erase_if(instance.gatherers, [&](const auto& entry) { return settle(instance, entry.second); });
}

// Answers a waiter if its answer is ready. Returns true when the waiter can be removed.
bool Server::settle(Instance& instance, const Waiter& waiter) {
  const auto found = clients_.find(waiter.connection);
  if (found == clients_.end()) return true;
  Connection& connection = *found->second;

  if (waiter.target < 0) {
    const auto outcome = instance.exchange.take(waiter.rank, waiter.number);
    if (!outcome) return false;
    if (outcome->error.empty()) {
      answer(connection, waiter.request, Message::done, outcome->gathered);
    } else {
      refuse(connection, waiter.request, outcome->error);
    }
    return true;
  }
  if (const Bytes* value = instance.exchange.find(waiter.target, waiter.key)) {
    answer(connection, waiter.request, Message::done, std::make_shared<Bytes>(*value));
    return true;
  }
  if (const auto reason = instance.exchange.why_never(waiter.target, waiter.key)) {
    refuse(connection, waiter.request, *reason);
    return true;
  }
  return false;
}

}  // namespace weft::bootstrap::local
