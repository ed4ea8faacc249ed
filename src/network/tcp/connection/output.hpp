// What one connection has to write and its socket has not taken yet.
#pragma once

#include "network/tcp/connection/record.hpp"
#include "sockets/sealed_stream.hpp"

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace weft::network::tcp {

/// Records wait in queues by their urgency: those of the first leave before those of the others, and none
/// takes the room of another queue.
enum class Queue : std::uint8_t { urgent, normal, bulk };
inline constexpr std::size_t kQueues = 3;

/// Writes at once what the socket takes, and keeps the rest. Used under the lock of the device.
class Output {
 public:
  /// Of each queue; a record is shorter.
  static constexpr std::size_t kRoom = std::size_t{40} << 10;
  /// Further room for answers: to the puts and gets that a peer may have under way, 64 of each.
  static constexpr std::size_t kRoomForAnswers = std::size_t{2} << 10;

  enum class Result : std::uint8_t {
    taken,   // written, or kept
    full,    // no room now; without effect
    failed,  // the connection is lost; errno tells why
  };

  /// Writes to a stream, which outlives it.
  explicit Output(sockets::SealedStream& stream) noexcept : stream_(stream) {}
  /// Allocates the queues. Throws std::bad_alloc.
  void open();

  /// Nothing waits here, nor in the stream.
  [[nodiscard]] bool is_empty() const noexcept;
  /// Bytes of records that wait whole or in part, without those of a piece.
  [[nodiscard]] std::size_t size() const noexcept;
  /// Returns true while a piece is not written whole.
  [[nodiscard]] bool has_piece() const noexcept {
    return head_left_ != 0 || !piece_.empty() || padding_left_ != 0;
  }
  /// Writes a record; header and payload are copied as far as the socket does not take them.
  Result write(int socket, Queue queue, const Record& record, std::span<const std::byte> header,
               std::span<const std::byte> payload) noexcept;
  /// Writes a record without bytes that answers an access; it has room even where other records have none.
  Result write_answer(int socket, const Record& record) noexcept;
  /// Begins a record whose bytes are written from where they are, behind `header` (a multiple of kAlignment):
  /// they must stay until has_piece() is false. Only when is_empty().
  Result write_piece(int socket, const Record& record, std::span<const std::byte> header,
                     std::span<const std::byte> piece) noexcept;
  /// The memory of the piece cannot be read: zeros take the place of what is not written of it.
  void replace_piece() noexcept;
  /// Writes as much as the socket takes. Result::full: not all.
  Result flush(int socket) noexcept;

 private:
  struct Waiting {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t begin = 0;
    std::size_t end = 0;

    [[nodiscard]] std::size_t size() const noexcept { return end - begin; }
    /// Appends what follows the first `skipped` bytes of the parts; false, without effect, when they and what
    /// waits are more than `room`.
    [[nodiscard]] bool append(std::span<const iovec> parts, std::size_t skipped, std::size_t size,
                              std::size_t room = kRoom) noexcept;
    /// Bytes of the record in which the first `written` bytes end that lie behind them.
    [[nodiscard]] std::size_t rest_behind(std::size_t written) const noexcept;
  };

  Result keep_rest(std::size_t index, std::span<const iovec> parts, std::size_t written,
                   std::size_t total) noexcept;
  Result flush_piece(int socket) noexcept;
  Result flush_queues(int socket) noexcept;
  [[nodiscard]] ssize_t send_parts(int socket, std::span<iovec> parts,
                                   std::size_t guarded = sockets::SealedStream::kNone) noexcept;
  void note_written(std::size_t size) noexcept;

  sockets::SealedStream& stream_;
  std::array<std::byte, sizeof(Record) + sizeof(PutHead)> head_{};  // of a piece
  std::size_t head_size_ = 0;
  std::size_t head_left_ = 0;
  std::span<const std::byte> piece_;
  std::size_t padding_left_ = 0;
  std::array<Waiting, kQueues> waiting_;
  // The record that is written in part: it is ended before any other is begun.
  std::size_t begun_queue_ = 0;
  std::size_t begun_left_ = 0;
};

}  // namespace weft::network::tcp
