// The side of a host that is not the root's.
#pragma once

#include <sys/types.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "bootstrap/local/board.hpp"
#include "bootstrap/local/rank_connections.hpp"
#include "bootstrap/relay/frame_link.hpp"

namespace weft::bootstrap::relay {

/// Serves the ranks of one host. One thread calls it; it never blocks: its owner waits for descriptor(), and
/// for link().
class Agent : private local::RankConnections::User {
 public:
  /// `to_root`: an authenticated connection. `socket_name`: by which ranks find it; empty: one that is made
  /// up. Throws weft::Error.
  Agent(std::string job_id, int size, sockets::Greeted to_root, std::string socket_name = {});
  ~Agent() override;

  /// The value of WEFT_BOOTSTRAP for the ranks of this host; several "hosts" may share an abstract name
  /// space.
  const std::string& name() const { return name_; }
  const std::string& job_id() const { return job_id_; }
  local::RankConnections::RankEnd open_for_rank() { return connections_.open_for_rank(); }

  [[nodiscard]] int descriptor() const { return connections_.descriptor(); }
  [[nodiscard]] const FrameLink& link() const noexcept { return link_; }
  [[nodiscard]] FrameLink& link() noexcept { return link_; }
  void serve();
  /// Tells the root that the process of a rank has ended; `how` reads "exited with code 0".
  void rank_ended(int rank, const std::string& how);

  /// The root does not answer any more: the boards tell that rank 0 has failed, and what ranks have asked, or
  /// ask from now on, fails with this text.
  void root_lost(std::string why);
  /// Requests of ranks that the root has not answered.
  [[nodiscard]] std::size_t open_requests() const;
  /// Returns true when so many ranks have joined, those that go on whatever others have, and none but of this
  /// process is connected; `is_late`: however many.
  [[nodiscard]] bool has_served(int ranks, bool is_late) const;

  struct End {
    int rank;
    pid_t process;  // 0: unknown
    std::string why;
  };
  /// Returns each rank once whose process must be ended, because it was declared failed.
  std::optional<End> take_end();

 private:
  struct Client;
  struct Instance {
    std::unique_ptr<local::Board> board;
    std::set<int> joined;  // ranks of this host
  };

  // RankConnections::User
  bool received(int connection, local::Request& request) override;
  std::size_t longest_request(int connection) const override;
  void closed(int connection) override;

  bool hello(Client& client, const local::Request& request);
  bool answers_itself(Client& client, local::Request& request);
  void pass_on(Client& client, const local::Request& request);
  void refuse(const Client& client, std::uint32_t request, const std::string& why);
  bool take(const FrameHeader& frame, Bytes& payload);
  bool welcome(Client& client, const local::Header& header, Bytes payload);
  void depart(std::uint32_t instance, int rank, bool has_failed);
  Instance& instance_of(std::uint32_t number);
  local::Board& board_of(std::uint32_t instance) { return *instance_of(instance).board; }
  Client* find_stream(std::uint32_t stream);

  const std::string job_id_;
  const std::string name_;
  const int size_;
  const std::size_t most_lent_;
  FrameLink link_;
  local::RankConnections connections_;
  std::map<int, std::unique_ptr<Client>> clients_;  // by descriptor
  std::uint32_t next_stream_ = 1;
  std::map<std::uint32_t, Instance> instances_;                        // by number
  using Loan = std::pair<std::uint32_t, std::pair<int, std::string>>;  // instance, rank, key
  std::map<Loan, std::shared_ptr<const local::Descriptor>> lent_;
  std::map<int, pid_t> processes_;  // by rank
  std::deque<End> ends_;
  std::string why_lost_;  // the root
};

}  // namespace weft::bootstrap::relay
