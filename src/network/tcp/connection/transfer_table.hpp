// The fetches, gets and puts of a device that have not ended.
#pragma once

#include "network/tcp/connection/connection.hpp"

#include <weft/status.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::network::session {
class SessionDevice;
}

namespace weft::network::tcp {

struct Transfer {
  Connection* with = nullptr;  // null: free
  std::uint32_t generation = 0;
  std::uint64_t token = 0;  // of the core
  std::byte* to = nullptr;  // null: a put
  std::size_t left = 0;     // bytes that have not come; of a put: that are not written
  bool is_get = false;      // is answered behind its bytes
};

/// Peers name a transfer by its index and generation: an answer to one that has ended finds none.
class TransferTable {
 public:
  static constexpr std::size_t kMost = 64;  // of a device, and of a peer's device

  /// Null: as many as there may be are under way.
  [[nodiscard]] Transfer* find_free() noexcept;
  [[nodiscard]] std::uint64_t wire_token(const Transfer& transfer) const noexcept;
  /// The transfer with the other end of this connection that the token names; null: there is none.
  [[nodiscard]] Transfer* find(const Connection& connection, std::uint64_t token) noexcept;
  void end(Transfer& transfer, Outcome outcome, session::SessionDevice& device) noexcept;
  /// Ends those of connections that are lost.
  void complete_lost(session::SessionDevice& device) noexcept;

 private:
  std::array<Transfer, kMost> transfers_;
};

}  // namespace weft::network::tcp
