// A message with chunks that fits one packet: the number of chunks (8 bytes), their sizes (8 each), the size
// of the head (8), the head, the chunks, each at the next multiple of 64: where it can stay, for any type.
#pragma once

#include <weft/bytes.hpp>
#include <weft/parcel/parcelport.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::parcel {

inline constexpr std::size_t aligned_offset(std::size_t offset) noexcept {
  return (offset + detail::kArrayAlignment - 1) / detail::kArrayAlignment * detail::kArrayAlignment;
}

/// Bytes of the message in this form.
inline std::size_t packed_size(const OutgoingMessage& message) noexcept {
  std::size_t size = sizeof(std::uint64_t) * (2 + message.chunks.size()) + message.head.size();
  for (const Bytes chunk : message.chunks) size = aligned_offset(size) + chunk.size();
  return size;
}

/// Writes packed_size(message) bytes to `at`.
inline void pack(const OutgoingMessage& message, std::byte* at) noexcept {
  std::byte* const base = at;
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
  for (const Bytes chunk : message.chunks) {
    // What the packet held before is nobody's but its owner's.
    std::byte* const begin = base + aligned_offset(static_cast<std::size_t>(at - base));
    std::memset(at, 0, static_cast<std::size_t>(begin - at));
    at = begin;
    put(chunk.data(), chunk.size());
  }
}

/// Fills head, chunk_sizes and chunk_addresses of `message`, which refer to `bytes`. Returns what is wrong
/// with them; nullptr: nothing.
[[nodiscard]] inline const char* unpack(Bytes bytes, IncomingMessage& message) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const auto word = [&](std::size_t index) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + kWord * index, sizeof value);
    return value;
  };
  const std::uint64_t count = bytes.size() < kWord ? ~std::uint64_t{0} : word(0);
  if (count > bytes.size() / kWord || (count + 2) * kWord > bytes.size())
    return "the chunks are more than it has room for";
  const std::uint64_t head_size = word(1 + count);
  std::uint64_t end = (count + 2) * kWord;
  if (head_size > bytes.size() - end) return "the head is longer than the message";
  message.head = bytes.subspan(end, head_size);
  end += head_size;
  message.chunk_sizes.reserve(count);
  message.chunk_addresses.reserve(count);
  for (std::uint64_t index = 0; index < count; ++index) {
    const std::uint64_t size = word(1 + index);
    const std::uint64_t begin = aligned_offset(end);
    if (begin > bytes.size() || size > bytes.size() - begin) return "a chunk is longer than the message";
    message.chunk_sizes.push_back(size);
    message.chunk_addresses.push_back(bytes.data() + begin);
    end = begin + size;
  }
  if (end != bytes.size()) return "head and chunks are not as long as the message";
  return nullptr;
}

}  // namespace weft::parcel
