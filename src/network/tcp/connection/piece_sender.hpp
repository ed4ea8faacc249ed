// What is written from where it is, in pieces: payloads that peers fetch, regions that they get from, and
// puts of this rank. docs/internals/network/tcp.md
#pragma once

#include "network/network.hpp"
#include "network/tcp/connection/connection_owner.hpp"
#include "network/tcp/connection/offers.hpp"
#include "network/tcp/connection/record.hpp"
#include "network/tcp/connection/transfer_table.hpp"

#include <cstddef>
#include <cstdint>

namespace weft::network::tcp {

/// Under the lock of its device, as all of an endpoint.
class PieceSender {
 public:
  /// `regions`, `offers`: the memory of this rank that peers may get from, and fetch.
  PieceSender(ConnectionOwner& owner, TransferTable& transfers, NamedMemory& regions, NamedMemory& offers)
      : owner_(owner), transfers_(transfers), regions_(regions), offers_(offers) {}

  /// Asks the peer for bytes: `kind` is fetch or get. See Port::fetch() and get().
  AccessResult request(Connection& connection, RecordKind kind, const FetchRequest& wanted, std::byte* to,
                       std::uint64_t token) noexcept;
  /// See Port::put().
  AccessResult put(Connection& connection, const RemoteMemory& to, Bytes from, std::uint64_t token) noexcept;
  /// Takes a record of kind fetch or get. Returns false when the peer asks for more at a time than it may.
  bool begin_serving(Connection& connection, const Record& record) noexcept;
  /// Sends an answer without bytes.
  void answer(Connection& connection, RecordKind kind, std::uint64_t token) noexcept;
  /// Writes what is left: of a piece while its memory may still be read, then messages, then further pieces.
  /// Result::full: not all.
  Output::Result flush(Connection& connection) noexcept;

 private:
  void serve(Connection& connection, const Serving& serving) noexcept;
  void serve_on(Connection& connection) noexcept;
  Output::Result begin_piece(Connection& connection, Serving& serving, bool& is_allowed) noexcept;
  static Output::Result write_zeros(Connection& connection) noexcept;
  bool write_begun(Connection& connection, Output::Result& result) noexcept;
  void note_piece(Connection& connection) noexcept;

  ConnectionOwner& owner_;
  TransferTable& transfers_;
  NamedMemory& regions_;
  NamedMemory& offers_;
};

}  // namespace weft::network::tcp
