// What the parts of an endpoint ask of it for a connection.
#pragma once

#include "network/tcp/connection/output.hpp"

#include <cstdint>
#include <string>

namespace weft::network::tcp {

struct Connection;

class ConnectionOwner {
 public:
  /// Ends the connection and the peer's part in the job; `why` is told.
  virtual void lose(Connection& connection, const std::string& why) noexcept = 0;
  /// Notes how a write to the connection has ended; returns true when all of it has been taken.
  virtual bool note(Connection& connection, Output::Result result) noexcept = 0;
  /// What the connection has to write is written as soon as its socket takes it.
  virtual void write_later(Connection& connection) noexcept = 0;
  /// The connection with a device of a peer, which is made when there is none. Throws std::bad_alloc.
  [[nodiscard]] virtual Connection& connection_of(int rank, std::uint8_t device) = 0;

 protected:
  ~ConnectionOwner() = default;
};

}  // namespace weft::network::tcp
