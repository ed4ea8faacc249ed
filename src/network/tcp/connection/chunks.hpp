// Memory in which a device receives: chunks that are filled by reads, and messages that lie in them.
#pragma once

#include "concurrent/mpsc_list.hpp"
#include "network/session/link/received_message.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::network::tcp {

/// Longest record but for those of kind data, which need not lie in one chunk.
inline constexpr std::size_t kChunkBytes = std::size_t{64} << 10;

/// Holds what one read or several have brought. Free again when the connection that fills it and the messages
/// in it have released it.
struct alignas(64) Chunk {
  Chunk* next = nullptr;
  std::atomic<std::uint32_t> users{0};
  std::unique_ptr<std::byte[]> bytes;
};

struct ChunkMessage : session::ReceivedMessage {
  Chunk* chunk = nullptr;
};

/// All chunks and messages of a device. Messages whose payload is kept by the program are copied, so that no
/// chunk waits for the program.
class Chunks final : public session::ReceiveBuffers {
 public:
  explicit Chunks(detail::PayloadLender& copier) noexcept : copier_(copier) {}

  void grow(std::uint32_t count, std::uint32_t held) override;
  void allow(std::uint32_t count) override { allowed_ += count; }
  void release(session::ReceivedMessage& message) noexcept override;
  [[nodiscard]] detail::PayloadLender& copier() noexcept override { return copier_; }
  PayloadOwner* keep(const std::byte*& data, std::size_t size, std::uint64_t& cookie) noexcept override {
    return copier_.keep(data, size, cookie);
  }

  /// Returns a chunk with one user; makes one when all wait for the deliveries of slow receivers; nullptr
  /// when there is no memory. One thread at a time, as with the next.
  [[nodiscard]] Chunk* take_chunk() noexcept;
  /// Returns a message in the chunk, of which it is a user; nullptr: the peers have sent more than they may,
  /// or there is no memory.
  [[nodiscard]] ChunkMessage* take_message(Chunk& chunk) noexcept;
  /// Any thread.
  void release(Chunk& chunk) noexcept {
    // Pairs with itself: the last user sees what all others have done with the chunk.
    if (chunk.users.fetch_sub(1, std::memory_order_acq_rel) == 1) free_chunks_.put(chunk);
  }

 private:
  void add_chunk();
  void add_messages(std::uint32_t count);

  detail::PayloadLender& copier_;
  std::vector<std::unique_ptr<ChunkMessage[]>> messages_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  concurrent::MpscList<session::ReceivedMessage> free_messages_;
  concurrent::MpscList<Chunk> free_chunks_;
  session::ReceivedMessage* ready_messages_ = nullptr;
  std::uint32_t allowed_ = 0;  // messages that may be added when they come
  Chunk* ready_chunks_ = nullptr;
};

}  // namespace weft::network::tcp
