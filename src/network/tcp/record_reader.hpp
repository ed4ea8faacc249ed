// Receiving: reads into chunks, and the records in them.
#pragma once

#include "network/tcp/connection/chunks.hpp"
#include "network/tcp/connection/connection.hpp"
#include "network/tcp/connection/connection_owner.hpp"
#include "network/tcp/connection/piece_receiver.hpp"
#include "network/tcp/connection/piece_sender.hpp"
#include "network/tcp/connection/record.hpp"
#include "network/tcp/endpoint_context.hpp"

#include <cstddef>
#include <vector>

namespace weft::network::tcp {

/// Under the lock of its device, as all of an endpoint.
class RecordReader {
 public:
  /// All must outlive the object.
  RecordReader(const EndpointContext& context, ConnectionOwner& owner, Chunks& chunks, PieceSender& pieces,
               PieceReceiver& landings) noexcept
      : context_(context), owner_(owner), chunks_(chunks), pieces_(pieces), landings_(landings) {}

  /// Returns true when something has come.
  bool read(Connection& connection, session::SessionDevice& device) noexcept;
  /// Reads what was read from sockets with other bytes, and had no room then.
  void read_unread(session::SessionDevice& device) noexcept;
  [[nodiscard]] bool has_unread() const noexcept { return !unread_.empty(); }
  /// Makes room for so many connections.
  void reserve(std::size_t connections) { unread_.reserve(connections); }

 private:
  void take_records(Connection& connection, session::SessionDevice& device) noexcept;
  /// Returns false when the record is not whole, or the connection is lost.
  bool take_record(Connection& connection, session::SessionDevice& device) noexcept;
  bool take_message(Connection& connection, const Record& record, session::SessionDevice& device) noexcept;
  static void rewind(Connection& connection) noexcept;
  [[nodiscard]] bool make_room(Connection& connection) noexcept;

  const EndpointContext& context_;
  ConnectionOwner& owner_;
  Chunks& chunks_;
  PieceSender& pieces_;
  PieceReceiver& landings_;
  std::vector<Connection*> unread_;  // whose streams have more, whatever their sockets have
};

}  // namespace weft::network::tcp
