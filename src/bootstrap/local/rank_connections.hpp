// The connections of ranks with a process of their host that serves their bootstrap: the launcher, or its
// agent.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/exchange.hpp"
#include "bootstrap/local/launcher_protocol.hpp"
#include "bootstrap/local/socket.hpp"

namespace weft::bootstrap::local {

/// A message of a rank.
struct Request {
  Header header;
  Bytes payload;
  Descriptor passed;  // that has come with it

  std::string_view text(std::size_t from = 0) const {
    return std::string_view{reinterpret_cast<const char*>(payload.data()), payload.size()}.substr(from);
  }
};

/// One thread calls it; it never blocks. Its owner waits for descriptor().
class RankConnections {
 public:
  /// What is done with messages. Connections are named by their descriptors.
  class User {
   public:
    virtual ~User() = default;
    /// Returns false when the connection must be closed.
    virtual bool received(int connection, Request& request) = 0;
    /// The longest payload that the connection may send now.
    virtual std::size_t longest_request(int connection) const = 0;
    /// The connection has ended, and its descriptor may name another one soon.
    virtual void closed(int connection) = 0;
  };

  /// Listens under the abstract name. Throws weft::Error.
  RankConnections(const std::string& name, User& user);
  ~RankConnections();

  /// How many descriptors of ranks may be kept: half of the files that this process may have open, the rest
  /// being for connections and output.
  [[nodiscard]] static std::size_t most_lent();

  /// A socket for a rank to inherit, over which it can connect from other network namespaces, and its name
  /// for the environment of the rank (WEFT_BOOTSTRAP_SOCKET). open_for_rank() throws weft::Error.
  struct RankEnd {
    Descriptor descriptor;
    std::string name;
  };
  RankEnd open_for_rank();

  /// A descriptor that is readable when serve() has something to do.
  int descriptor() const { return epoll_.get(); }
  void serve();
  /// Reads what has come over a connection, but closes nothing.
  void receive(int connection);
  /// Sends to a connection; nothing when it has ended.
  void send(int connection, const Header& header, std::shared_ptr<const Bytes> payload,
            std::shared_ptr<const Descriptor> descriptor = nullptr);
  /// Ends a connection; the next serve() tells the user.
  void close(int connection);
  /// The process that has connected; 0: it is not visible to this one.
  int process_of(int connection) const;
  bool is_open(int connection) const { return connections_.contains(connection); }

 private:
  struct Connection;

  void accept_all();
  void accept_passed(int rank_socket);
  void admit(Descriptor socket);
  void receive(Connection& connection);
  void flush(Connection& connection);
  void doom(Connection& connection);

  User& user_;
  Descriptor epoll_;
  Descriptor listener_;
  std::map<int, Descriptor> rank_sockets_;                  // by descriptor; see open_for_rank()
  std::map<int, std::unique_ptr<Connection>> connections_;  // by descriptor
  std::vector<int> doomed_;
};

}  // namespace weft::bootstrap::local
