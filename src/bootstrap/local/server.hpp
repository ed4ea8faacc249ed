#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/exchange.hpp"
#include "bootstrap/local/socket.hpp"
#include "bootstrap/local/wire.hpp"

namespace weft::bootstrap::local {

/// The launcher's side of the bootstrap. One thread calls it; it never blocks and has no thread or timer of
/// its own: its owner waits for descriptor() and timeout_ms() together with everything else that it waits
/// for.
class Server {
 public:
  Server(std::string job_id, int size);
  ~Server();

  /// The value of WEFT_BOOTSTRAP for the ranks.
  const std::string& name() const { return name_; }
  const std::string& job_id() const { return job_id_; }

  /// Readable when serve() has something to do.
  int descriptor() const { return epoll_.get(); }
  /// Time until serve() has something to do although nothing is readable; -1 for never.
  int timeout_ms() const;
  void serve();

  /// The process of a rank has ended; `how` reads "exited with code 0". What waits for it fails with that.
  void rank_ended(int rank, std::string how);

  struct Abort {
    int rank;
    int code;
    std::string reason;
  };
  /// The first request of a rank to end the job.
  const std::optional<Abort>& aborted() const { return aborted_; }

 private:
  struct Connection;
  struct Instance;
  struct Waiter;

  void accept_all();
  void receive(Connection& connection);
  bool handle(Connection& connection);
  bool hello(Connection& connection);
  void put(Connection& connection);
  void get(Connection& connection, bool waits);
  void collective(Connection& connection, CollectiveKind kind);
  void settle_collective(Instance& instance, std::uint64_t number);
  void settle_all(Instance& instance);
  bool settle(Instance& instance, const Waiter& waiter);
  void leave(Instance& instance, int rank, std::string how);
  bool has_said_that_it_leaves(const Instance& instance, int rank) const;

  void answer(Connection& connection, std::uint32_t request, Message message,
              std::shared_ptr<const Bytes> payload);
  void refuse(Connection& connection, std::uint32_t request, std::string_view text);
  void flush(Connection& connection);
  void doom(Connection& connection);
  void close(int descriptor);

  const std::string job_id_;
  const std::string name_;
  const int size_;
  Descriptor epoll_;
  Descriptor listener_;
  std::map<int, std::unique_ptr<Connection>> connections_;  // by descriptor
  std::vector<std::unique_ptr<Instance>> instances_;        // a finished one is null
  std::vector<std::uint32_t> joins_;                        // by rank
  std::vector<int> doomed_;
  std::map<int, std::string> ended_;  // by rank
  std::size_t stored_bytes_ = 0;
  std::optional<Abort> aborted_;

  // A rank whose connection broke has usually ended; how is known a moment later.
  struct Departure {
    std::uint32_t instance;
    int rank;
    std::int64_t due_ns;
  };
  std::deque<Departure> departures_;
};

}  // namespace weft::bootstrap::local
