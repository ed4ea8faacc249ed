// The connection of a device with a device of a peer.
#pragma once

#include "base/descriptor.hpp"
#include "network/session/link/link.hpp"
#include "network/tcp/connection/chunks.hpp"
#include "network/tcp/connection/offers.hpp"
#include "network/tcp/connection/output.hpp"
#include "sockets/addresses.hpp"
#include "sockets/greeting.hpp"
#include "sockets/sealed_stream.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weft::network::tcp {

using namespace sockets;  // addresses, greetings

/// Bytes that a peer is still to be sent from where they are: what it fetches or gets, or a put of this rank.
struct Serving {
  NamedMemory* table;      // in which the key names the memory; null: a put
  const std::byte* bytes;  // of a put: the next
  std::uint64_t key;       // of a put: of the peer's region
  std::uint64_t offset;
  std::uint64_t left;
  std::uint64_t token;
  bool is_get = false;         // is answered behind its bytes
  bool is_unreadable = false;  // zeros were sent in place of bytes
};

/// One address that is being tried.
struct Attempt {
  base::Descriptor socket;
  Address address;
  enum class Stage : std::uint8_t { connecting, introduced, proved } stage = Stage::connecting;
  std::int64_t established = 0;  // when the kernel had connected it; of base::now_ns()
  Introduction introduction;
  Challenge challenge;
  std::array<std::byte, sizeof(Challenge)> received{};
  std::size_t filled = 0;
  SealedStream stream;           // of the connection that it may become
  session::HandleCursor cursor;  // of the hello that has been sent
};

/// What is done to reach a peer that has published its addresses.
struct Search {
  std::uint16_t port = 0;
  std::vector<Address> addresses;  // in the order of trial
  std::size_t next = 0;            // of the addresses
  std::int64_t next_time = 0;      // when the next address is tried; of base::now_ns()
  std::int64_t begun = 0;          // 0: waits until others have been reached
  std::int64_t deadline = 0;       // when the peer is given up
  std::int64_t next_look = 0;      // whether it is still there
  std::int64_t patience = 0;       // until this rank connects again to a peer that is about to connect
  std::vector<Attempt> attempts;
  std::string faults;  // why addresses could not be used
};

/// Where the next bytes of a record of kind data or put go.
struct Landing {
  std::byte* to = nullptr;  // null: the bytes of a put, into the region of this key
  std::size_t left = 0;
  std::size_t padding = 0;
  std::uint64_t key = 0;
  std::uint64_t offset = 0;  // in the region
  std::uint64_t token = 0;
  bool is_last = false;  // of the put's pieces
};

/// Where in a chunk the bytes behind a landing have to begin, so that the record behind their padding is
/// aligned.
[[nodiscard]] inline std::size_t shift_of(const Landing& landing) noexcept {
  return (kAlignment - landing.padding) % kAlignment;
}

struct Connection {
  int rank = -1;
  std::uint8_t device = 0;
  session::Link* link = nullptr;  // null until the session makes one
  base::Descriptor socket;        // open: the greeting is over
  SealedStream stream;            // what is read and written goes through it
  bool is_broken = false;         // nothing can be written; what the peer has sent before is still read
  bool is_lost = false;
  std::unique_ptr<Search> search;  // while it is not open

  Output output{stream};
  bool is_writing = false;  // in the device's list of connections with something to write
  std::int64_t writing_since = 0;
  bool waits_for_room = false;  // the device's epoll tells when the socket takes more
  std::vector<Serving> servings;
  std::size_t piece = 0;  // bytes of the first serving that are being written

  Chunk* chunk = nullptr;  // into which is read
  bool is_unread = false;  // in the device's list of connections that have read more than was taken
  std::size_t begin = 0;   // of what has been read and not been taken
  std::size_t end = 0;
  Landing landing;
  bool refuses_put = false;  // a piece of the put that is arriving could not be stored

  [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(socket) && !is_lost; }
};

/// By rank and device of the peer.
using Connections = std::map<std::pair<int, std::uint8_t>, std::unique_ptr<Connection>>;

/// The connection of a link that connect() has made.
[[nodiscard]] inline Connection& connected(const session::Link& link) noexcept {
  return *reinterpret_cast<Connection*>(link.address);
}

}  // namespace weft::network::tcp
