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
#include "bootstrap/local/launcher_protocol.hpp"
#include "bootstrap/local/socket.hpp"

namespace weft::bootstrap::local {

/// The launcher's side of the bootstrap. One thread calls it; it never blocks and has no thread or timer of
/// its own: its owner waits for descriptor() and timeout_ms() together with its other events.
class Server {
 public:
  Server(std::string job_id, int size);
  ~Server();

  /// The value of WEFT_BOOTSTRAP for the ranks.
  const std::string& name() const { return name_; }
  const std::string& job_id() const { return job_id_; }

  /// A socket for a rank to inherit, over which it can connect from other network namespaces, and its name
  /// for the environment of the rank (WEFT_BOOTSTRAP_SOCKET). open_for_rank() throws weft::Error.
  struct RankEnd {
    Descriptor descriptor;
    std::string name;
  };
  RankEnd open_for_rank();

  /// A descriptor that is readable when serve() has something to do.
  int descriptor() const { return epoll_.get(); }
  /// The time in milliseconds until serve() has something to do although descriptor() is not readable; -1 for
  /// never.
  int timeout_ms() const;
  void serve();

  /// Notes that the process of a rank has ended; `how` reads "exited with code 0". Requests that wait for the
  /// rank fail with that text.
  void rank_ended(int rank, std::string how);

  /// A rank that has ended without a step that other ranks of the job need: it has not joined, or not left in
  /// order.
  struct Unfinished {
    int rank;
    /// True: the rank had joined and did not leave; false: it has never joined, though `other` has.
    bool has_joined;
    int other;
    /// The rank's connection had ended long before the process did.
    bool is_cut_off = false;
  };
  /// Returns each unfinished rank once, the next one that has been found.
  std::optional<Unfinished> take_unfinished();

  struct Abort {
    int rank;
    int code;
    std::string reason;
  };
  /// The first request of a rank to end the job.
  const std::optional<Abort>& aborted() const { return aborted_; }

  /// A rank that has been declared failed because another one could not reach it, although its process runs.
  struct Unreachable {
    int rank;
    int by;
    std::string why;
  };
  /// Returns each such rank once; its process should be ended.
  std::optional<Unreachable> take_unreachable();

  struct Loss {
    int rank;
    std::string what;
  };
  /// Losses: messages that ranks had accepted for ranks that have failed, and that have not arrived.
  const std::vector<Loss>& losses() const { return losses_; }

 private:
  struct Connection;
  struct Instance;
  struct Waiter;

  void accept_all();
  void accept_passed(int rank_socket);
  void admit(Descriptor socket);
  void receive(Connection& connection);
  bool handle(Connection& connection);
  bool hello(Connection& connection);
  void put(Connection& connection);
  void get(Connection& connection, bool waits);
  void collective(Connection& connection, CollectiveKind kind);
  void report_unreachable(Connection& connection);
  void decide_reports();
  void lend(Connection& connection);
  void take_back(Connection& connection);
  void borrow(Connection& connection);
  void settle_collective(Instance& instance, std::uint64_t number);
  void settle_all(Instance& instance);
  bool settle(Instance& instance, const Waiter& waiter);
  void leave(Instance& instance, int rank, std::string how);
  void find_absent(const Instance& instance);

  void answer(Connection& connection, std::uint32_t request, Message message,
              std::shared_ptr<const Bytes> payload, std::shared_ptr<const Descriptor> descriptor = nullptr);
  void refuse(Connection& connection, std::uint32_t request, std::string_view text);
  void flush(Connection& connection);
  void doom(Connection& connection);
  void close(int descriptor);

  const std::string job_id_;
  const Secret secret_ = random_secret();
  const std::string name_;
  const int size_;
  Descriptor epoll_;
  Descriptor listener_;
  std::map<int, Descriptor> rank_sockets_;                  // by descriptor; see open_for_rank()
  std::map<int, std::unique_ptr<Connection>> connections_;  // by descriptor
  std::vector<std::unique_ptr<Instance>> instances_;        // null for a finished instance
  /// The key of an instance: its name, and the number of earlier instances of that name.
  using Matched = std::pair<std::string, std::uint32_t>;
  std::map<Matched, std::uint32_t> numbers_;  // of instances
  /// The number of times that a rank has joined, by name, and the process that did so last.
  struct Joins {
    std::map<std::string, std::uint32_t, std::less<>> by_name;
    std::int32_t process = 0;  // 0: none that is visible to this process
  };
  std::vector<Joins> joins_;  // by rank
  std::vector<int> doomed_;
  std::map<int, std::string> ended_;  // by rank
  std::size_t stored_bytes_ = 0;
  const std::size_t most_lent_;  // descriptors, of all ranks
  std::size_t lent_ = 0;
  std::optional<Abort> aborted_;
  std::deque<Unfinished> unfinished_;
  std::vector<bool> is_known_unfinished_;  // by rank
  std::vector<Loss> losses_;

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
    Unreachable about;
    std::int64_t due_ns;
  };
  std::deque<Report> reports_;
  std::deque<Unreachable> unreachable_;
};

}  // namespace weft::bootstrap::local
