// Parcels, and what carries them: docs/internals/messages/parcels.md.
#include "study/parcelports/connections/header_message.hpp"
#include "study/parcelports/tcp/tcp_frame.hpp"
#include "study/parcelports/tcp/tcp_proof.hpp"
#include "unit/wire/example.hpp"

#include <weft/parcel/archive.hpp>
#include <weft/parcel/detail/parcel_header.hpp>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace weft::test {
namespace {

using namespace parcel;
using namespace parcel::ports;

constexpr std::uint64_t kA = 0x1122334455667788;

template <std::size_t Size>
std::array<std::byte, Size> counted(unsigned first) {
  std::array<std::byte, Size> all{};
  for (std::size_t place = 0; place < Size; ++place) all[place] = static_cast<std::byte>(first + place);
  return all;
}
ExampleBytes bytes_of_writer(const Writer& writer) {
  return ExampleBytes().add(writer.written().data(), writer.written().size());
}

// Their sizes, and the number of their chunks, are filled in when they leave.
const Example call("parcel with a call, before it leaves", [] {
  Writer writer(1024);
  parcel::detail::write_header(writer, 0x0102, kA, true);
  writer(std::uint32_t{0x03040506}, std::string("hello"));
  return bytes_of_writer(writer);
});
const Example action("parcel without a call, before it leaves", [] {
  Writer writer(1024);
  parcel::detail::write_header(writer, 0x0102, 0, false);
  writer(std::uint16_t{0x0304});
  return bytes_of_writer(writer);
});
const Example answer("answer with the type 0x0102, before it leaves", [] {
  Writer writer(1024);
  parcel::detail::write_header(writer, parcel::detail::kAnswer | 0x0102, kA, false);
  return bytes_of_writer(writer);
});
const Example record("record of the runtime of parcels, before it leaves", [] {
  Writer writer(1024);
  parcel::detail::write_header(writer, parcel::detail::kControl, 0, false);
  return bytes_of_writer(writer);
});
const Example values("values of parcels", [] {
  Writer writer(1024);
  writer(true, std::int8_t{-2}, 1.5, std::vector<std::uint16_t>{0x0102, 0x0304}, std::string("ab"),
         std::optional<std::uint32_t>(0x05060708), std::optional<std::uint32_t>(),
         std::tuple<std::uint8_t, std::uint8_t>(9, 10));
  return bytes_of_writer(writer);
});
const Example chunk("array that travels as a chunk", [] {
  const std::vector<std::uint32_t> large(0x0102);
  Writer writer(1024);
  writer(large);
  return bytes_of_writer(writer);
});
const Example header_message("header message", [] {
  HeaderMessage message;
  message.kind = HeaderMessage::kRelease;
  message.flags = HeaderMessage::kHasHead | HeaderMessage::kHasSizes;
  message.source = 0x01020304;
  message.number = kA;
  message.finished = 0x05060708;
  message.head_size = 0x090a0b0c;
  message.chunks = 0x0d0e;
  return ExampleBytes(message);
});

tcp::Challenge make_challenge() {
  tcp::Challenge made;
  made.nonce = counted<16>(0x40);
  return made;
}
tcp::Greeting make_greeting() {
  tcp::Greeting made;
  made.rank = 0x01020304;
  made.to = 0x05060708;
  made.nonce = counted<16>(0x60);
  return made;
}
const Example challenge("challenge of the parcelport tcp", [] { return ExampleBytes(make_challenge()); });
const Example greeting("greeting of the parcelport tcp", [] {
  tcp::Greeting made = make_greeting();
  made.proof = tcp::proof_of('c', counted<32>(0x80), make_challenge(), made);
  return ExampleBytes(made);
});
const Example listener("proof of the parcelport tcp", [] {
  return ExampleBytes(tcp::proof_of('l', counted<32>(0x80), make_challenge(), make_greeting()));
});
const Example frame("header of a frame of the parcelport tcp", [] {
  tcp::FrameHeader header;
  header.head_size = kA;
  header.chunks = 0x01020304;
  return ExampleBytes(header);
});

}  // namespace
}  // namespace weft::test
