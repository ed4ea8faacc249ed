// Reaching peers: addresses are tried until a greeting has succeeded, and connections of peers are taken.
#pragma once

#include "base/descriptor.hpp"
#include "network/tcp/connection/chunks.hpp"
#include "network/tcp/connection/connection.hpp"
#include "network/tcp/connection/connection_owner.hpp"
#include "network/tcp/endpoint_context.hpp"
#include "network/tcp/record_reader.hpp"
#include "sockets/acceptor.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace weft::network::tcp {

/// The descriptor is waited for by `epoll`, which names it `what`. Throws weft::Error.
void watch_for_input(int epoll, int descriptor, void* what);

/// Under the lock of its device, as all of an endpoint.
class Connector {
 public:
  /// `epoll` waits for the connections of the device, and for what the connector needs. All must outlive the
  /// object. Throws weft::Error.
  Connector(const EndpointContext& context, std::uint8_t index, ConnectionOwner& owner, int epoll,
            Chunks& chunks, RecordReader& reader);

  /// Begins to reach a peer with this address. Returns false when the address cannot be used; throws when
  /// there is no memory.
  [[nodiscard]] bool begin(Connection& connection, std::span<const std::byte> address);
  /// Takes an event of epoll; returns false when `what` is none of the connector's own.
  [[nodiscard]] bool take_event(const void* what, session::SessionDevice& device) noexcept;
  /// Something has come over one of the connections that are tried.
  void advance(Connection& connection, session::SessionDevice& device) noexcept;
  [[nodiscard]] bool is_searching() const noexcept { return !searching_.empty(); }
  /// Tries further addresses whose time has come.
  void search_on() noexcept;
  /// Returns true when a connection has been opened since the last call.
  [[nodiscard]] bool take_has_opened() noexcept { return std::exchange(has_opened_, false); }
  /// Connections that peers have made arrive here.
  [[nodiscard]] sockets::Inbox& inbox() noexcept { return inbox_; }
  /// Makes room for so many connections.
  void reserve(std::size_t connections) { searching_.reserve(connections); }
  /// Ends the connection of the device with itself.
  void stop() noexcept { own_end_.reset(); }

 private:
  void take_accepted(session::SessionDevice& device) noexcept;
  void adopt(std::unique_ptr<Accepted> accepted, session::SessionDevice& device);
  void open(Connection& connection, base::Descriptor socket) noexcept;
  void connect_to_itself(Connection& connection);
  void set_search_timer(bool on) noexcept;
  void watch_attempt(Connection& connection, const Attempt& attempt, int operation,
                     std::uint32_t for_what) noexcept;
  void excuse_absence(std::int64_t away) noexcept;
  void search_on(Connection& connection, std::int64_t now, bool is_tick) noexcept;
  void begin_next(Connection& connection) noexcept;
  /// Returns false when the attempt has failed, or is not needed any more.
  bool resume(Connection& connection, Attempt& attempt, session::SessionDevice& device) noexcept;

  const EndpointContext& context_;
  const std::uint8_t index_;
  ConnectionOwner& owner_;
  const int epoll_;
  Chunks& chunks_;
  RecordReader& reader_;
  base::Descriptor search_timer_;  // while there are searches
  sockets::Inbox inbox_;
  std::unique_ptr<Connection> own_end_;  // of the connection of the device with itself: the other end
  std::vector<Connection*> searching_;
  bool searches_are_due_ = false;
  std::int64_t next_tick_ = 0;  // of the searches
  bool has_opened_ = false;     // a connection, since it was last asked
};

}  // namespace weft::network::tcp
