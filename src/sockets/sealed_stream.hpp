// The bytes behind a greeting, in frames that tell changes and, if wanted, hide what is in them.
//
//   check (8) | length (4) | 0 (4) | `length` bytes | tag (16)
//
// Both check and tag are keyed and cover the number of the frame, which is not sent: a frame that was
// changed, sent again, left out or moved is noticed. Check covers the length, so that a false length is
// noticed before so many bytes are waited for.
#pragma once

#include "base/descriptor.hpp"
#include "sockets/greeting.hpp"

#include <sys/types.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace weft::sockets {

/// A connection whose greeting is over.
struct Greeted {
  base::Descriptor socket;
  SessionKeys keys;
};

/// Most bytes of a frame, without what protects it.
inline constexpr std::size_t kMostFramed = std::size_t{32} << 10;

struct FrameHead {
  std::uint64_t check;
  std::uint32_t length;
  std::uint32_t zero;
};
static_assert(sizeof(FrameHead) == 16);
inline constexpr std::size_t kFrameTag = 16;
inline constexpr std::size_t kLongestSealed = sizeof(FrameHead) + kMostFramed + kFrameTag;

/// Protects one direction of a connection: seals and opens frames in the order in which they travel.
class Sealer {
 public:
  /// Throws std::bad_alloc.
  Sealer(const Key& key, Protection protection, bool uses_aes);
  ~Sealer();
  Sealer(const Sealer&) = delete;
  Sealer& operator=(const Sealer&) = delete;

  /// Frames of `length` bytes have this size.
  [[nodiscard]] static constexpr std::size_t size_of(std::size_t length) noexcept {
    return sizeof(FrameHead) + length + kFrameTag;
  }
  /// The bytes lie at frame + sizeof(FrameHead), and head and tag are put around them.
  void seal(std::byte* frame, std::size_t length) noexcept;
  /// True when the head is one that the peer has written next.
  [[nodiscard]] bool is_next(const FrameHead& head) const noexcept;
  /// Opens the whole frame where it lies; false when it is not what the peer has written next.
  [[nodiscard]] bool open(std::byte* frame) noexcept;

 private:
  struct Keys;
  [[nodiscard]] std::uint64_t check_of(std::uint32_t length) const noexcept;

  std::unique_ptr<Keys> keys_;
  std::uint64_t number_ = 0;  // of the next frame
};

/// Stands for a connected socket that does not block. Before protect(), or after it with Protection::none,
/// its calls are those of the socket. One thread at a time.
class SealedStream {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  SealedStream();
  ~SealedStream();
  SealedStream(SealedStream&&) noexcept;
  SealedStream& operator=(SealedStream&&) noexcept;

  /// Throws std::bad_alloc.
  void protect(const SessionKeys& keys);

  /// Notes bytes that belong to no frame, as the last word of a greeting: they leave together with what is
  /// sent next, or with flush(). Before anything else is sent; at most kMostFirst bytes.
  static constexpr std::size_t kMostFirst = 32;
  void send_first(std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] bool has_first() const noexcept { return first_size_ != 0; }
  /// As sendmsg(): returns how many bytes were taken, which are written or kept here, or -1 and errno. The
  /// part of the index `guarded` may be memory that cannot be read: EFAULT.
  ssize_t send(int socket, std::span<iovec> parts, std::size_t guarded = kNone) noexcept;
  /// True while bytes that were taken are not written: nothing more is taken before flush() has written them.
  [[nodiscard]] bool has_kept() const noexcept { return kept_size() != 0; }
  /// How many they are, with what protects them.
  [[nodiscard]] std::size_t kept_size() const noexcept { return kept_end_ - kept_begin_; }
  /// Returns false when the connection is lost; errno tells why. has_kept() tells whether all is written.
  [[nodiscard]] bool flush(int socket) noexcept;

  /// As recvmsg(); EBADMSG: something has come that the peer has not sent so. The part `guarded` may be
  /// memory that cannot be written: EFAULT.
  ssize_t receive(int socket, std::span<const iovec> parts, std::size_t guarded = kNone) noexcept;
  /// True when receive() has something to tell, although the socket may have nothing to read.
  [[nodiscard]] bool has_more() const noexcept { return has_more_; }

 private:
  struct Buffers;
  class Cursor;
  [[nodiscard]] bool seal_next(Cursor& from, std::size_t guarded) noexcept;
  [[nodiscard]] bool keep_first() noexcept;
  [[nodiscard]] bool open_next() noexcept;
  [[nodiscard]] ssize_t fill(int socket) noexcept;
  void note_more() noexcept;
  [[nodiscard]] ssize_t send_plainly(int socket, std::span<iovec> parts) noexcept;

  std::unique_ptr<Buffers> buffers_;  // null: not protected
  std::array<std::byte, kMostFirst> first_{};
  std::size_t first_size_ = 0;
  std::size_t kept_begin_ = 0;  // of sealed frames that are not written
  std::size_t kept_end_ = 0;
  std::size_t begin_ = 0;  // of what was read and is not opened
  std::size_t end_ = 0;
  std::size_t open_begin_ = 0;  // of an opened frame: bytes that were not received by the caller
  std::size_t open_end_ = 0;
  bool has_more_ = false;
  bool is_broken_ = false;
};

}  // namespace weft::sockets
