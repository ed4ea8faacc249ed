// What one connection has to write and its socket has not taken yet.
#pragma once

#include "network/tcp/record.hpp"

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace weft::network::tcp {

/// Writes at once what the socket takes, and keeps the rest, in order: first what is left of a piece of
/// another's memory, then bytes of its own buffer. Used under the lock of the device.
class Output {
 public:
  static constexpr std::size_t kRoom = std::size_t{64} << 10;

  enum class Result : unsigned char {
    taken,    // written, or kept
    full,     // no room now; without effect
    failed,   // the connection is lost; errno tells why
  };

  /// Allocates the buffer. Throws std::bad_alloc.
  void open() { bytes_.reset(new std::byte[kRoom]); }

  [[nodiscard]] bool is_empty() const noexcept { return begin_ == end_ && !has_piece(); }
  /// Returns true while a piece is not written whole.
  [[nodiscard]] bool has_piece() const noexcept {
    return head_left_ != 0 || !piece_.empty() || padding_left_ != 0;
  }
  /// Writes a record; the payload is copied as far as the socket does not take it.
  Result write(int socket, const Record& record, std::span<const std::byte> header,
               std::span<const std::byte> payload) noexcept;
  /// Begins a record whose bytes are written from where they are: they must stay until has_piece() is false.
  /// Only when is_empty().
  Result write_piece(int socket, const Record& record, std::span<const std::byte> piece) noexcept;
  /// Writes as much as the socket takes. Result::full: not all.
  Result flush(int socket) noexcept;

 private:
  Result flush_piece(int socket) noexcept;
  bool keep(std::span<const iovec> pieces, std::size_t written, std::size_t total) noexcept;

  std::array<std::byte, sizeof(Record)> head_{};  // of a piece
  std::size_t head_left_ = 0;
  std::span<const std::byte> piece_;
  std::size_t padding_left_ = 0;
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace weft::network::tcp
