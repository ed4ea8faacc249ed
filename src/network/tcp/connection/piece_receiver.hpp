// Bytes that go to where they belong without a copy in between: payloads and gets of this rank, and puts of
// peers. docs/internals/network/tcp.md
#pragma once

#include "network/tcp/connection/connection_owner.hpp"
#include "network/tcp/connection/offers.hpp"
#include "network/tcp/connection/piece_sender.hpp"
#include "network/tcp/connection/record.hpp"
#include "network/tcp/connection/transfer_table.hpp"

#include <sys/types.h>

#include <cstddef>
#include <memory>

namespace weft::network::tcp {

/// Under the lock of its device, as all of an endpoint.
class PieceReceiver {
 public:
  /// `regions`: the memory of this rank that peers may put to. `answers`: by which puts are answered.
  PieceReceiver(ConnectionOwner& owner, TransferTable& transfers, NamedMemory& regions, PieceSender& answers)
      : owner_(owner),
        transfers_(transfers),
        regions_(regions),
        answers_(answers),
        discarded_(new std::byte[kDiscard]) {}

  /// Takes a record of kind data: what has come of it is copied, and the rest will be read to where it
  /// belongs. Returns false when nothing more has come, or the connection is lost.
  bool land(Connection& connection, const Record& record, session::SessionDevice& device) noexcept;
  /// Takes a record of kind put, likewise. A put that reaches beyond its region, or whose region has been
  /// released, is read to its end and refused.
  bool land_put(Connection& connection, const Record& record) noexcept;
  /// Reads the rest of a landing, and what follows it into the chunk; `asked` becomes the room for both.
  [[nodiscard]] ssize_t receive_landing(Connection& connection, std::size_t& asked) noexcept;
  /// All bytes of the record are where they belong.
  void end_piece(Connection& connection, session::SessionDevice& device) noexcept;
  /// Takes a record of kind refused, put_completed or get_completed. Returns false when it cannot be.
  bool end_access(Connection& connection, const Record& record, session::SessionDevice& device) noexcept;

 private:
  static constexpr std::size_t kDiscard = std::size_t{64} << 10;

  void store(Connection& connection, std::size_t here) noexcept;
  static bool make_room_for_rest(Connection& connection) noexcept;
  void end_put_piece(Connection& connection) noexcept;

  ConnectionOwner& owner_;
  TransferTable& transfers_;
  NamedMemory& regions_;
  PieceSender& answers_;
  const std::unique_ptr<std::byte[]> discarded_;  // where bytes of refused puts go
};

}  // namespace weft::network::tcp
