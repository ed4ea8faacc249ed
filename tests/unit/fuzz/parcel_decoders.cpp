// What takes bytes of parcels, packed messages and header messages.
#include "unit/fuzz/decoders.hpp"

#include "parcel/ports/weft/packed_message.hpp"
#include "parcel/runtime/parcel_batch.hpp"
#include "study/parcelports/connections/header_message.hpp"

#include <weft/parcel/archive.hpp>

#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <variant>

namespace weft::fuzz {

namespace {

using Values =
    std::tuple<std::string, std::vector<std::vector<double>>, std::map<std::string, std::vector<int>>,
               std::optional<std::string>, std::variant<int, std::string>, std::set<int>, std::vector<bool>,
               std::array<int, 3>>;

Values example() {
  return {"text",
          {{1, 2, 3}, std::vector<double>(20, 1.5)},
          {{"key", {1, 2}}},
          "optional",
          "variant",
          {1, 2},
          {true, false},
          {7, 8, 9}};
}

/// The first byte says how many chunk sizes of 8 bytes follow, then the archive.
Decoder archive() {
  std::vector<std::vector<std::byte>> seeds;
  for (const std::size_t threshold : {std::size_t{64}, std::size_t{8192}}) {
    parcel::Writer writer(threshold);
    writer(example());
    std::vector<std::byte> seed{static_cast<std::byte>(writer.chunks().size())};
    for (const weft::Bytes chunk : writer.chunks()) {
      const std::uint64_t size = chunk.size();
      const auto bytes = std::as_bytes(std::span(&size, 1));
      seed.insert(seed.end(), bytes.begin(), bytes.end());
    }
    seed.insert(seed.end(), writer.written().begin(), writer.written().end());
    seeds.push_back(std::move(seed));
  }
  return {"archive",
          [](Bytes bytes) {
            if (bytes.empty()) return;
            std::vector<std::uint64_t> sizes(
                std::min(static_cast<std::size_t>(bytes[0]), (bytes.size() - 1) / 8));
            if (!sizes.empty()) std::memcpy(sizes.data(), bytes.data() + 1, 8 * sizes.size());
            // A transport has received chunks of these sizes: they are no lies about memory.
            for (std::uint64_t& size : sizes) size %= 1 << 12;
            parcel::Reader reader(bytes.subspan(1 + 8 * sizes.size()), sizes);
            Values values;
            try {
              reader(values);
              reader.finish();
            } catch (const parcel::MalformedParcel&) {
            }
          },
          seeds};
}

Decoder parcels() {
  const parcel::detail::ParcelHeader header{24, 3 | parcel::detail::kHasCall};
  std::vector<std::byte> seed(24);
  std::memcpy(seed.data(), &header, sizeof header);
  return {"parcels",
          [](Bytes bytes) {
            try {
              while (!bytes.empty()) bytes = bytes.subspan(parcel::parse_parcel(bytes).size);
            } catch (const parcel::MalformedParcel&) {
            }
          },
          {seed}};
}

Decoder packed() {
  parcel::OutgoingMessage message;
  const std::vector<std::byte> bytes(40, std::byte{5});
  message.head.append(bytes);
  message.chunks = {weft::Bytes(bytes).first(16), weft::Bytes(bytes).first(24)};
  std::vector<std::byte> seed(parcel::packed_size(message));
  parcel::pack(message, seed.data());
  return {"packed",
          [](Bytes whole) {
            parcel::IncomingMessage received;
            if (parcel::unpack(whole, received) != nullptr) return;
            const auto is_inside = [&](const std::byte* data, std::uint64_t size) {
              const std::less_equal<> before;
              return before(whole.data(), data) && before(data + size, whole.data() + whole.size());
            };
            if (received.chunk_addresses.size() != received.chunk_sizes.size()) std::abort();
            if (!is_inside(received.head.data(), received.head.size())) std::abort();
            for (std::size_t next = 0; next < received.chunk_sizes.size(); ++next)
              if (!is_inside(received.chunk_addresses[next], received.chunk_sizes[next])) std::abort();
          },
          {seed}};
}

Decoder header_message() {
  parcel::ports::HeaderMessage fields;
  fields.source = 1;
  fields.flags = parcel::ports::HeaderMessage::kHasHead | parcel::ports::HeaderMessage::kHasSizes;
  fields.chunks = 2;
  fields.head_size = 8;
  std::vector<std::byte> seed(sizeof fields + 24);
  std::memcpy(seed.data(), &fields, sizeof fields);
  return {"header-message",
          [](Bytes bytes) {
            const auto header = parcel::ports::read_header_message(bytes, 4);
            if (header && header->head.size() + header->sizes.size() + sizeof header->fields > bytes.size())
              std::abort();
          },
          {seed}};
}

std::vector<Decoder> decoders() { return {archive(), parcels(), packed(), header_message()}; }

const Registration kRegistration(&decoders);

}  // namespace

}  // namespace weft::fuzz
