#pragma once

// Private to the sources of Server.

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/local/board.hpp"
#include "bootstrap/local/server.hpp"

namespace weft::bootstrap::local {

struct Server::Connection {
  explicit Connection(Descriptor descriptor) : socket(std::move(descriptor)) {}

  struct Outgoing {
    Header header;
    std::shared_ptr<const Bytes> payload;
    std::size_t sent = 0;  // of header and payload together
  };

  Descriptor socket;
  int rank = -1;  // -1 before hello
  std::uint32_t instance = 0;
  Header header;
  Bytes payload;
  std::size_t received = 0;  // of header and payload together
  std::deque<Outgoing> outgoing;
  bool waits_for_room = false;  // registered for EPOLLOUT
  bool doomed = false;          // see Server::doom
  bool has_left = false;        // it said so before it went

  std::string_view text(std::size_t from = 0) const {
    return std::string_view{reinterpret_cast<const char*>(payload.data()), payload.size()}.substr(from);
  }
};

struct Server::Waiter {
  int descriptor;
  std::uint32_t request;
  int rank;              // who waits
  int target = -1;       // for a get: whose value
  std::string key = {};  // for a get
  std::uint64_t number = 0;
};

struct Server::Instance {
  Instance(std::uint32_t own_number, std::string_view job_id, int size)
      : number(own_number), exchange(size), board(job_id, size) {}

  std::uint32_t number;
  Exchange exchange;
  Board board;
  int left = 0;  // ranks that have joined and left, or can never join
  std::size_t stored_bytes = 0;
  std::multimap<std::pair<int, std::string>, Waiter, RankedKeyLess> getters;
  std::multimap<std::uint64_t, Waiter> gatherers;  // by number of the collective
};

}  // namespace weft::bootstrap::local
