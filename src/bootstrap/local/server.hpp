#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/exchange.hpp"
#include "bootstrap/job_id.hpp"
#include "bootstrap/local/findings.hpp"
#include "bootstrap/local/launcher_protocol.hpp"
#include "bootstrap/local/loans.hpp"
#include "bootstrap/local/rank_connections.hpp"
#include "bootstrap/local/socket.hpp"

namespace weft::bootstrap::local {

/// The ranks of another host, as the server sees them: streams of messages, numbered by the host.
class RemoteRanks {
 public:
  virtual ~RemoteRanks() = default;
  /// The host, as the server counts them: it speaks for no other's ranks.
  [[nodiscard]] virtual int host() const = 0;
  virtual void answer(std::uint32_t stream, const Header& header, const Bytes* payload) = 0;
  virtual void close(std::uint32_t stream) = 0;
  /// A rank has failed, or has left in order, as the board of the instance tells.
  virtual void departed(std::uint32_t instance, int rank, bool has_failed) = 0;
};

/// The launcher's side of the bootstrap. One thread calls it; it never blocks and has no thread or timer of
/// its own: its owner waits for descriptor() and timeout_ms() together with its other events.
/// Sources: server.cpp, server_requests.cpp, server_streams.cpp.
class Server : private RankConnections::User {
 public:
  /// `host_of`: the host of each rank, counted from 0; empty: there is one host. Throws weft::Error.
  /// `socket_name`: by which ranks of this host find it; empty: one that is made of the job's id.
  Server(std::string job_id, int size, std::vector<std::int32_t> host_of = {},
         const Secret& secret = random_secret(), std::string socket_name = {});
  ~Server() override;

  /// The value of WEFT_BOOTSTRAP for the ranks.
  const std::string& name() const { return name_; }
  const std::string& job_id() const { return job_id_; }
  const Secret& secret() const { return secret_; }

  using RankEnd = RankConnections::RankEnd;
  /// See RankConnections::open_for_rank().
  RankEnd open_for_rank() { return connections_.open_for_rank(); }

  // server_streams.cpp
  /// Ranks of another host will speak through this object, and their host is told of departures.
  void connect(RemoteRanks& ranks);
  /// The host is lost, or has ended: its streams end.
  void disconnect(RemoteRanks& ranks);
  void receive(RemoteRanks& ranks, std::uint32_t stream, const Header& header, Bytes payload);
  void close(RemoteRanks& ranks, std::uint32_t stream);

  /// A descriptor that is readable when serve() has something to do.
  int descriptor() const { return connections_.descriptor(); }
  /// The time in milliseconds until serve() has something to do although descriptor() is not readable; -1 for
  /// never.
  int timeout_ms() const;
  void serve();

  /// Notes that the process of a rank has ended; `how` reads "exited with code 0". Requests that wait for the
  /// rank fail with that text.
  void rank_ended(int rank, std::string how);

  /// What has been found out about ranks, for the owner to take.
  Findings& findings() { return findings_; }
  const Findings& findings() const { return findings_; }

  /// Returns true when there is such a rank, and the host is its own.
  [[nodiscard]] bool is_of(const RemoteRanks& ranks, int rank) const {
    return rank >= 0 && rank < size_ && !host_of_.empty() &&
           host_of_[static_cast<std::size_t>(rank)] == ranks.host();
  }
  /// Returns true when all ranks have joined whatever others have, and none but of this process is connected;
  /// `is_late`: those that have not joined do not count.
  [[nodiscard]] bool has_served_all(bool is_late) const;
  /// Returns true when the rank has joined the job at some time.
  [[nodiscard]] bool has_joined(int rank) const {
    return !joins_[static_cast<std::size_t>(rank)].by_name.empty();
  }
  /// The process of a rank of this host that has joined; 0 when it is not known.
  [[nodiscard]] std::int32_t process_of(int rank) const {
    return joins_[static_cast<std::size_t>(rank)].process;
  }

 private:
  struct Connection;
  struct Instance;
  struct Waiter;

  // RankConnections::User
  bool received(int connection, Request& request) override;
  std::size_t longest_request(int connection) const override;
  void closed(int connection) override;

  bool handle(Connection& connection);
  bool hello(Connection& connection);
  void put(Connection& connection);
  void get(Connection& connection, bool waits);
  void collective(Connection& connection, CollectiveKind kind);
  void report_unreachable(Connection& connection);
  void agree(Connection& connection);
  void decide_reports();
  void loan(Connection& connection);
  void settle_collective(Instance& instance, std::uint64_t number);
  void settle_all(Instance& instance);
  bool settle(Instance& instance, const Waiter& waiter);
  void leave(Instance& instance, int rank, std::string how);
  void find_absent(const Instance& instance);

  void answer(Connection& connection, std::uint32_t request, Message message,
              std::shared_ptr<const Bytes> payload, std::shared_ptr<const Descriptor> descriptor = nullptr);
  void refuse(Connection& connection, std::uint32_t request, std::string_view text);
  [[nodiscard]] Connection* find_stream(const RemoteRanks& ranks, std::uint32_t stream);

  const std::string job_id_;
  const Secret secret_;
  const std::string name_;
  const int size_;
  const std::vector<std::int32_t> host_of_;
  RankConnections connections_;
  std::map<int, std::unique_ptr<Connection>> clients_;  // by descriptor; streams have negative numbers
  int next_stream_ = -1;
  std::vector<RemoteRanks*> hosts_;
  std::vector<std::unique_ptr<Instance>> instances_;  // null for a finished instance
  /// The key of an instance: its name, and the number of earlier instances of that name.
  using Matched = std::pair<std::string, std::uint32_t>;
  std::map<Matched, std::uint32_t> numbers_;  // of instances
  /// The number of times that a rank has joined, by name, and the process that did so last.
  struct Joins {
    std::map<std::string, std::uint32_t, std::less<>> by_name;
    std::int32_t process = 0;  // 0: none that is visible to this process
  };
  std::vector<Joins> joins_;          // by rank
  std::map<int, std::string> ended_;  // by rank
  std::size_t stored_bytes_ = 0;
  Loans loans_;
  Findings findings_;

  // Ranks whose connection broke: they have usually ended, and the way in which is known a moment later.
  struct Departure {
    std::uint32_t instance;
    int rank;
    std::int64_t due_ns;
  };
  std::deque<Departure> departures_;

  // What ranks report of others that they cannot reach. The end of a process, which explains it, is usually
  // known a moment later.
  struct Report {
    std::uint32_t instance;
    Findings::Unreachable about;
    std::int64_t due_ns;
  };
  std::deque<Report> reports_;
};

}  // namespace weft::bootstrap::local
