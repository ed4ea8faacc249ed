#pragma once

// Private to the sources of Server.

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/agreement.hpp"
#include "bootstrap/local/board.hpp"
#include "bootstrap/local/server.hpp"

namespace weft::bootstrap::local {

/// A rank that is connected, or will be when it has said who it is.
struct Server::Connection {
  int key = 0;    // in the server's table
  int rank = -1;  // -1 before hello
  std::uint32_t instance = 0;
  RemoteRanks* ranks = nullptr;  // null: the rank is of this host
  std::uint32_t stream = 0;
  // The message that is being handled:
  Header header;
  Bytes payload;
  Descriptor passed;

  std::string_view text(std::size_t from = 0) const {
    return std::string_view{reinterpret_cast<const char*>(payload.data()), payload.size()}.substr(from);
  }
};

struct Server::Waiter {
  int connection;
  std::uint32_t request;
  int rank;              // the rank that waits
  int target = -1;       // for a get: the rank whose value is requested
  std::string key = {};  // for a get
  std::uint64_t number = 0;
};

/// The state of a rank in an instance of the job.
enum class Membership : std::uint8_t {
  absent,  ///< has not joined
  joined,
  left,         ///< in order, with a message
  lost,         ///< its connection ended without that message, as it does when its process ends
  unreachable,  ///< declared failed, because another rank could not reach it
  refused,      ///< differs in what all must agree on
  cut_off,      ///< its connection ended without that message, and the process has gone on for a while
};

struct Server::Instance {
  Instance(std::uint32_t own_number, std::string_view job_id, int size)
      : number(own_number),
        exchange(size),
        board(job_id, size, Board::Holds::all),
        members(static_cast<std::size_t>(size), Membership::absent) {}

  /// The rank has failed, or has left in order: its board and the other hosts are told.
  void mark_failed(int rank, std::span<RemoteRanks* const> hosts) {
    board.mark_failed(rank);
    for (RemoteRanks* const host : hosts) host->departed(number, rank, true);
  }
  void mark_left(int rank, std::span<RemoteRanks* const> hosts) {
    board.mark_left(rank);
    for (RemoteRanks* const host : hosts) host->departed(number, rank, false);
  }
  Membership& member(int rank) { return members[static_cast<std::size_t>(rank)]; }
  /// Returns a rank that has joined, in any later state; -1 when none has.
  int any_member() const {
    for (std::size_t rank = 0; rank < members.size(); ++rank)
      if (members[rank] != Membership::absent) return static_cast<int>(rank);
    return -1;
  }

  std::uint32_t number;
  Exchange exchange;
  Agreement agreement;
  Board board;
  std::vector<Membership> members;  // by rank
  int left = 0;                     // ranks that have joined and left, or can never join
  std::size_t stored_bytes = 0;
  std::multimap<std::pair<int, std::string>, Waiter, RankedKeyLess> getters;
  std::multimap<std::uint64_t, Waiter> gatherers;  // by number of the collective
};

}  // namespace weft::bootstrap::local
