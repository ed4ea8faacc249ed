// The way of one message out: its header, then its follow-up messages, one after the other.
#pragma once

#include <weft/parcel/parcelport.hpp>

#include <cstdint>
#include <memory>
#include <vector>

#include "study/parcelports/connections/two_sided.hpp"

namespace weft::parcel::ports {

/// What connections need of their port.
struct ConnectionContext;

/// Destroys itself when it has ended.
class SendConnection final : public Poster {
 public:
  SendConnection(ConnectionContext& context, int peer) noexcept;
  ~SendConnection() override;

  /// Sends parcels without chunks, copied into the header. False: push-back, and the object is gone.
  [[nodiscard]] static bool try_send_small(ConnectionContext& context, int peer, Bytes parcels,
                                           unsigned worker);
  /// Sends a message; false: push-back, and `message` stays.
  [[nodiscard]] static bool try_send(ConnectionContext& context, std::unique_ptr<OutgoingMessage>& message,
                                     unsigned worker);
  /// Sends a header without a message. It is tried until it is accepted.
  static void send_notice(ConnectionContext& context, int peer, std::uint16_t kind, std::uint64_t number,
                          std::uint64_t finished, unsigned worker);

  void ended(bool is_ok, unsigned worker) override;
  /// Goes on with what is next. False: push-back; whoever has called keeps the connection and tries again.
  [[nodiscard]] bool resume(unsigned worker);

 private:
  /// Goes on for the first time. False: push-back; the connection is gone, and its message in `unsent`.
  [[nodiscard]] static bool begin(SendConnection* connection, std::unique_ptr<OutgoingMessage>& unsent,
                                  unsigned worker);

  enum class HeaderPart : std::uint8_t { room, message, sent };

  /// Decides what travels in the header; afterwards pieces_ holds the rest.
  void plan();
  void add_piece(Bytes bytes);
  [[nodiscard]] bool write_header();
  void finish(bool is_delivered);

  ConnectionContext& context_;
  const int peer_;
  std::uint16_t kind_;
  std::uint16_t flags_ = 0;
  HeaderPart header_ = HeaderPart::room;
  bool has_failed_ = false;
  std::uint64_t number_ = 0;
  std::uint64_t finished_ = 0;
  std::size_t header_size_ = 0;
  std::unique_ptr<OutgoingMessage> message_;
  std::vector<std::uint64_t> sizes_;  // of the chunks
  std::vector<Bytes> pieces_;         // the follow-up messages
  std::size_t next_piece_ = 0;
};

}  // namespace weft::parcel::ports
