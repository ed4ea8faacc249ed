// What the parts of the port tcp know of it.
#pragma once

#include <weft/parcel/parcelport.hpp>

#include <algorithm>
#include <memory>
#include <utility>

#include "study/parcelports/tcp/asio.hpp"
#include "study/parcelports/tcp/tcp_proof.hpp"

namespace weft::parcel::ports::tcp {

/// Of those that run the io_context, one at a time, unless said otherwise.
class PortParts {
 public:
  asio::io_context context;
  Secret secret{};
  Receiver* receiver = nullptr;  // while it runs

  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;
  [[nodiscard]] virtual bool has_failed(int peer) const noexcept = 0;
  /// fail() was called.
  [[nodiscard]] virtual bool is_known_failed(int peer) const noexcept = 0;
  [[nodiscard]] virtual bool is_stopping() const noexcept = 0;
  /// Both directions end, with all that is under way in them.
  virtual void fail(int peer) = 0;

  /// It cannot be delivered. Any thread.
  void report_lost(std::unique_ptr<OutgoingMessage> message) const {
    if (message && message->peer >= 0) receiver->sent(std::move(message), false);
  }

 protected:
  ~PortParts() = default;
};

}  // namespace weft::parcel::ports::tcp
