// One-sided accesses by messages: the initiator's side.
//
// Sources: pieces.cpp (puts and gets), atomic.cpp (atomic operations).
#pragma once

#include "core/backlog/caller.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/one_sided/access_requests.hpp"
#include "core/protocol/wire.hpp"
#include "core/protocol/work_list.hpp"

#include <weft/status.hpp>
#include <weft/types.hpp>

namespace weft::core {

class AccessMessages {
 public:
  AccessMessages(const Context& context, AccessRequests& requests) noexcept
      : context_(context), requests_(requests), sizes_(context) {}

  /// Sends the next piece. `has_left` becomes true when the peer has left.
  Status send_piece(AccessRequest& request, Caller caller, bool& has_left) noexcept;
  /// Continues a request: its remaining pieces, or its signal.
  Step advance(AccessRequest& request, Caller caller) noexcept;

  /// What targets answer.
  void on_access_completed(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;
  void on_get_data(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;
  void on_atomic_completed(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;

 private:
  using Request = AccessRequest;

  [[nodiscard]] AccessPiece next_piece(const Request& request, std::uint64_t size) const noexcept;
  Status send_put(Request& request, std::uint64_t size, Caller caller, bool& has_left) noexcept;
  Status send_get(Request& request, std::uint64_t size, Caller caller, bool& has_left) noexcept;
  Status send_atomic(Request& request, Caller caller, bool& has_left) noexcept;

  const Context& context_;
  AccessRequests& requests_;
  const PieceSizes sizes_;
};

}  // namespace weft::core
