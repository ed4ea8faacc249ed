// The header message: the first of a message's messages, and often the only one.
#pragma once

#include <weft/bytes.hpp>
#include <weft/parcel/detail/message_limits.hpp>
#include <weft/parcel/parcelport.hpp>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace weft::parcel::ports {

/// Behind it, as its flags say, the sizes of the chunks (the transmission chunk, 8 bytes each), and the head.
struct HeaderMessage {
  enum Kind : std::uint16_t {
    kParcels = 1,
    kFinished = 2,  ///< only carries `finished`
    kRelease = 3,   ///< gives the tag `number` back
  };
  enum Flags : std::uint16_t { kHasHead = 1, kHasSizes = 2 };
  static constexpr std::uint32_t kMagic = 0x50485457;  // "WTHP"

  std::uint32_t magic = kMagic;
  std::uint16_t kind = kParcels;
  std::uint16_t flags = 0;
  std::int32_t source = -1;
  std::uint32_t reserved = 0;
  std::uint64_t number = 0;     ///< from which the tags of follow-up messages are made
  std::uint64_t finished = 0;   ///< so many of the receiver's own numbers are finished, without a gap
  std::uint64_t head_size = 0;  ///< in bytes
  std::uint64_t chunks = 0;
};

/// A header message as it arrives; views of the bytes.
struct ReceivedHeader {
  HeaderMessage fields;
  Bytes sizes;
  Bytes head;
};

/// Nothing: the bytes are no header of one of `ranks` ranks.
[[nodiscard]] inline std::optional<ReceivedHeader> read_header_message(Bytes bytes, int ranks) noexcept {
  ReceivedHeader header;
  if (bytes.size() < sizeof header.fields) return {};
  HeaderMessage& fields = header.fields;
  std::memcpy(&fields, bytes.data(), sizeof fields);
  bytes = bytes.subspan(sizeof fields);
  const bool is_plausible = fields.magic == HeaderMessage::kMagic && fields.kind >= HeaderMessage::kParcels &&
                            fields.kind <= HeaderMessage::kRelease && fields.source >= 0 &&
                            fields.source < ranks && fields.head_size <= detail::kMostHead &&
                            fields.chunks <= detail::kMostChunks;
  if (!is_plausible) return {};
  if ((fields.flags & HeaderMessage::kHasSizes) != 0) {
    if (fields.chunks > bytes.size() / 8) return {};
    header.sizes = bytes.first(8 * fields.chunks);
    bytes = bytes.subspan(header.sizes.size());
  }
  if ((fields.flags & HeaderMessage::kHasHead) != 0) {
    if (fields.head_size > bytes.size()) return {};
    header.head = bytes.first(fields.head_size);
  }
  return header;
}

}  // namespace weft::parcel::ports
