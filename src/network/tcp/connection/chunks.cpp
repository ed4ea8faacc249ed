#include "network/tcp/connection/chunks.hpp"

#include <algorithm>
#include <new>

namespace weft::network::tcp {

namespace {

constexpr std::uint32_t kMessagesAtATime = 256;
constexpr std::uint32_t kMessagesAtFirst = 32;  // of a peer; many peers never send more
constexpr std::uint32_t kChunksPerPeer = 2;     // one that is read into, and one whose messages are delivered

}  // namespace

void Chunks::add_messages(std::uint32_t count) {
  messages_.reserve(messages_.size() + 1);
  messages_.push_back(std::make_unique<ChunkMessage[]>(count));
  for (std::uint32_t index = 0; index < count; ++index) free_messages_.put(messages_.back()[index]);
}

void Chunks::grow(std::uint32_t count, std::uint32_t) {
  const std::uint32_t now = std::min(count, kMessagesAtFirst);
  add_messages(now);
  allow(count - now);
  for (std::uint32_t index = 0; index < kChunksPerPeer; ++index) add_chunk();
}

void Chunks::add_chunk() {
  chunks_.reserve(chunks_.size() + 1);
  auto chunk = std::make_unique<Chunk>();
  chunk->bytes.reset(new std::byte[kChunkBytes]);
  free_chunks_.put(*chunk);
  chunks_.push_back(std::move(chunk));
}

void Chunks::release(session::ReceivedMessage& message) noexcept {
  Chunk* const chunk = static_cast<ChunkMessage&>(message).chunk;
  free_messages_.put(message);
  release(*chunk);
}

Chunk* Chunks::take_chunk() noexcept try {
  if (ready_chunks_ == nullptr) ready_chunks_ = free_chunks_.take_all();
  if (ready_chunks_ == nullptr) {
    add_chunk();
    ready_chunks_ = free_chunks_.take_all();
  }
  Chunk* const chunk = ready_chunks_;
  ready_chunks_ = chunk->next;
  chunk->users.store(1, std::memory_order_relaxed);
  return chunk;
} catch (const std::bad_alloc&) {
  return nullptr;
}

ChunkMessage* Chunks::take_message(Chunk& chunk) noexcept try {
  if (ready_messages_ == nullptr) ready_messages_ = free_messages_.take_all();
  if (ready_messages_ == nullptr && allowed_ != 0) {
    const std::uint32_t count = std::min(allowed_, kMessagesAtATime);
    add_messages(count);
    allowed_ -= count;
    ready_messages_ = free_messages_.take_all();
  }
  if (ready_messages_ == nullptr) return nullptr;
  auto* const message = static_cast<ChunkMessage*>(ready_messages_);
  ready_messages_ = message->next;
  message->chunk = &chunk;
  chunk.users.fetch_add(1, std::memory_order_relaxed);
  return message;
} catch (const std::bad_alloc&) {
  return nullptr;
}

}  // namespace weft::network::tcp
