// A message with chunks that fits one packet: the number of chunks (8 bytes), their sizes (8 each), the size
// of the head (8), the head, the chunks.
#pragma once

#include <weft/bytes.hpp>
#include <weft/parcel/parcelport.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::parcel {

/// Bytes of the message in this form.
inline std::size_t packed_size(const OutgoingMessage& message) noexcept {
  std::size_t size = sizeof(std::uint64_t) * (2 + message.chunks.size()) + message.head.size();
  for (const Bytes chunk : message.chunks) size += chunk.size();
  return size;
}

/// Writes packed_size(message) bytes to `at`.
inline void pack(const OutgoingMessage& message, std::byte* at) noexcept {
  const auto put = [&at](const void* from, std::size_t size) {
    if (size != 0) std::memcpy(at, from, size);
    at += size;
  };
  const std::uint64_t count = message.chunks.size();
  const std::uint64_t head_size = message.head.size();
  put(&count, sizeof count);
  for (const Bytes chunk : message.chunks) {
    const std::uint64_t size = chunk.size();
    put(&size, sizeof size);
  }
  put(&head_size, sizeof head_size);
  put(message.head.bytes().data(), head_size);
  for (const Bytes chunk : message.chunks) put(chunk.data(), chunk.size());
}

/// Fills head and chunk_sizes of `message`, and `chunks`, views of `bytes`. Returns what is wrong with them;
/// nullptr: nothing.
[[nodiscard]] inline const char* unpack(Bytes bytes, IncomingMessage& message, Bytes& chunks) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const auto word = [&](std::size_t index) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + kWord * index, sizeof value);
    return value;
  };
  const std::uint64_t count = bytes.size() < kWord ? ~std::uint64_t{0} : word(0);
  if (count > bytes.size() / kWord || (count + 2) * kWord > bytes.size())
    return "the chunks are more than it has room for";
  const std::uint64_t left = bytes.size() - (count + 2) * kWord;
  std::uint64_t chunk_bytes = 0;
  for (std::uint64_t index = 0; index < count; ++index) {
    message.chunk_sizes.push_back(word(1 + index));
    if (word(1 + index) > left - chunk_bytes) return "a chunk is longer than the message";
    chunk_bytes += word(1 + index);
  }
  const std::uint64_t head_size = word(1 + count);
  if (head_size != left - chunk_bytes) return "head and chunks are not as long as the message";
  message.head = bytes.subspan((count + 2) * kWord, head_size);
  chunks = bytes.last(chunk_bytes);
  return nullptr;
}

}  // namespace weft::parcel
