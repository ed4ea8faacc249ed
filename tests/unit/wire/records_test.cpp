// Records that are written as they lie in memory, or by a function of their own.
#include "bootstrap/agreement.hpp"
#include "bootstrap/contact/card.hpp"
#include "bootstrap/launchers/environment/arrival.hpp"
#include "bootstrap/local/board.hpp"
#include "bootstrap/local/launcher_protocol.hpp"
#include "bootstrap/relay/frame_link.hpp"
#include "bootstrap/relay/relay.hpp"
#include "core/protocol/wire.hpp"
#include "network/session/link/message_format.hpp"
#include "network/shm/segment/layout.hpp"
#include "network/shm/segment/peers.hpp"
#include "network/tcp/connection/record.hpp"
#include "sockets/addresses.hpp"
#include "sockets/greeting.hpp"
#include "sockets/sealed_stream.hpp"
#include "unit/wire/example.hpp"

#include <weft/options.hpp>
#include <weft/stream/stream_group.hpp>

#include <sys/mman.h>
#include <cstring>
#include <span>
#include <string_view>

namespace weft::test {
namespace {

template <std::size_t Size>
std::array<char, Size> chars(std::string_view text) {
  std::array<char, Size> all{};
  text.copy(all.data(), Size);
  return all;
}
/// Bytes from `first` on.
template <std::size_t Size>
std::array<std::byte, Size> counted(unsigned first) {
  std::array<std::byte, Size> all{};
  for (std::size_t place = 0; place < Size; ++place) all[place] = static_cast<std::byte>(first + place);
  return all;
}
constexpr std::uint64_t kA = 0x1122334455667788;
constexpr std::uint64_t kB = 0x99aabbccddeeff01;

// Shared memory.

const Example shm_address("shm.address", [] {
  return ExampleBytes(
      network::shm::Address{.boot_id = kA,
                            .pid_namespace = 0x0203040506070809,
                            .process = 0x0a0b0c0d,
                            .descriptor = 0x0e0f1011,
                            .bytes = 0x1213141516171819,
                            .probe = 0x1a1b1c1d1e1f2021,
                            .file = {0x2223242526272829, 0x2a2b2c2d2e2f3031},
                            .is_lent = 1,
                            .host_id = chars<sizeof(network::shm::Address::host_id)>("alpha")});
});
const Example slot_header("header of a slot", [] {
  return ExampleBytes(detail::slot_header(0x01020340 | 5, 0x0607, 0x08, detail::SlotKind::packet));
});
const Example packet_reference("packet reference", [] {
  return ExampleBytes(network::shm::PacketReference{0x01020304, 0x05060708, kA});
});
const Example ring_marker("ring marker", [] {
  network::shm::RingMarker marker;
  std::memset(&marker, 0, sizeof marker);
  marker = {kA, 0x05060708};
  return ExampleBytes().add(&marker, 12);
});
const Example handle_word("word of a handle", [] {
  return ExampleBytes(detail::handle_word(RemoteCompletion(0x0102, 0x0304, 7), 0x05060708));
});

// Protocols.

const Example match_trailer("match trailer", [] {
  return ExampleBytes(core::MatchTrailer{
      0x0102, core::policy_and_class(MatchingPolicy::tag_only, MessageClass::bulk), 0x03, 0x04050607});
});
const Example match_trailer_of_posts("match trailer of an inlined post", [] {
  return ExampleBytes(
      detail::match_trailer(0x0102, static_cast<std::uint8_t>(MatchingPolicy::rank_only), 0x03));
});
const Example rts("RTS", [] {
  return ExampleBytes(core::Rts{kA, kB, {0x01020304, 0x05060708}, 0x090a0b0c, 2, 0x0d0e0f1011121314});
});
const Example cts("CTS", [] {
  return ExampleBytes(core::Cts{{0x01020304, 0x05060708}, {0x090a0b0c, 0x0d0e0f10}, kA, kB, 0x11121314, 0});
});
const Example clear_to_put("clear to put", [] {
  return ExampleBytes(core::ClearToPut{
      {0x01020304, 0x05060708}, {0x090a0b0c, 0x0d0e0f10}, kA, kB, 0x1112131415161718, 0x191a1b1c, 0});
});
const Example cancel("cancel", [] {
  return ExampleBytes(core::Cancel{{0x01020304, 0x05060708}, 0x090a0b0c, 0x0d0e0f10});
});
const Example fragment("fragment", [] { return ExampleBytes(core::DataHeader{kA, kB}); });
const Example access_piece("access piece", [] {
  return ExampleBytes(core::AccessPiece{
      {0x01020304, 0x05060708}, kA, kB, 0x090a0b0c0d0e0f10, {0x11121314, 0x15161718}, 0x191a1b1c, 0x1d1e, 1});
});
const Example get_data("get data", [] { return ExampleBytes(core::GetData{kA, 1, 0}); });
const Example access_completed("access ended", [] { return ExampleBytes(core::AccessEnded{1}); });
const Example atomic_request("atomic request", [] {
  return ExampleBytes(core::AtomicRequest{
      {0x01020304, 0x05060708}, kA, {0x090a0b0c, 0x0d0e0f10}, kB, 0x1112131415161718, 7, 3, 0x191a, 1, 0});
});
const Example atomic_completed("atomic ended", [] { return ExampleBytes(core::AtomicEnded{kA, 1, 0}); });
const Example multipart_rts("RTS of parts", [] {
  return ExampleBytes(core::MultipartRts{
      {0x01020304, 0x05060708}, {0x090a0b0c, 0x0d0e0f10}, kA, kB, 0x11121314, 0x15161718, 1});
});
const Example part_entry("entry of a part", [] { return ExampleBytes(core::PartEntry{kA, kB}); });
const Example name_word("word of a name", [] {
  return ExampleBytes(core::word_of({0x01020304, 0x05060708}));
});
const Example stream_word("word of a stream group", [] {
  const detail::StreamWords words(0x12300000, 700, true);
  return ExampleBytes(words.of_sender(0x2ab) | words.of_receiver(0x155) | 0x01020304);
});

// Message networks.

const Example device_record("device of a message network", [] {
  using namespace network::session;
  return ExampleBytes(
      DeviceRecord{kMagic, kWireVersion, kA, kB, 0x01020304, 0x05060708, 0x090a0b0c, 0, chars<64>("tcp")});
});
const Example session_header("header of a message", [] {
  return ExampleBytes(network::session::Header{
      kA, 0x01020304, 0x05, 0x06, network::session::Kind::rendezvous_data, network::session::kIsFrame});
});
const Example frame_record("record in a frame", [] {
  return ExampleBytes(network::session::FrameRecord{kA, 0x01020304, 0x05, {}});
});
const Example hello("greeting of a device", [] {
  using namespace network::session;
  return ExampleBytes(
      Hello{kMagic, kWireVersion, 0x01020304, 0, chars<64>("0123456789abcdef0123456789abcdef")});
});
const Example session_credit("credit of a message network", [] {
  return ExampleBytes(network::session::Credit{{1, 2, 3, 4, 5}, 0x01020304, {0x10, 0x20, 0x30, 0x40, 0x50}});
});
const Example ask("ask", [] { return ExampleBytes(network::session::Ask{{1, 2, 3, 4, 0x05060708}}); });
const Example handle_change("change of a handle", [] {
  return ExampleBytes(network::session::HandleChange{0x0102, 0x0304, 2, 0, 0x05060708});
});
const Example kinds("kinds of messages by class", [] {
  ExampleBytes bytes;
  for (const auto traffic :
       {network::TrafficClass::data, network::TrafficClass::control, network::TrafficClass::urgent,
        network::TrafficClass::bulk, network::TrafficClass::rendezvous_data})
    bytes.add(network::session::kind_of(traffic));
  return bytes;
});

// Records of tcp.

const Example record("record", [] {
  return ExampleBytes(network::tcp::Record{0x01020304, network::tcp::RecordKind::get_completed, {}, kA});
});
const Example fetch_request("request for bytes", [] {
  return ExampleBytes(network::tcp::FetchRequest{kA, kB, 0x0102030405060708});
});
const Example put_head("piece of a put", [] {
  return ExampleBytes(network::tcp::PutHead{kA, kB, 0x0102030405060708, 0});
});
const Example region_key("key of a region", [] {
  return ExampleBytes(network::tcp::key_of({.index = 0x01020304, .generation = 0x05060708}));
});

// Sockets.

sockets::Introduction make_introduction() {
  sockets::Introduction introduction;
  introduction.job_id = chars<32>("0123456789abcdef0123456789abcdef");
  introduction.from_rank = 0x01020304;
  introduction.to_rank = 0x05060708;
  introduction.from_device = 9;
  introduction.to_device = 10;
  introduction.purpose = sockets::Purpose::hosts;
  introduction.protection = sockets::Protection::encrypted;
  introduction.has_aes = 1;
  introduction.nonce = counted<16>(0x40);
  return introduction;
}
sockets::Challenge make_challenge() {
  sockets::Challenge challenge;
  challenge.protection = sockets::Protection::encrypted;
  challenge.nonce = counted<16>(0x60);
  return challenge;
}
const sockets::Key kSecret = counted<32>(0x80);

const Example introduction("introduction", [] { return ExampleBytes(make_introduction()); });
const Example challenge("challenge", [] {
  sockets::Challenge made = make_challenge();
  made.proof = counted<32>(0xa0);
  return ExampleBytes(made);
});
const Example proof("proof of the connecting side", [] {
  sockets::prepare_greetings();
  return ExampleBytes(sockets::proof_of_connector(kSecret, make_introduction(), make_challenge()));
});
const Example answer("answer to a greeting", [] {
  sockets::prepare_greetings();
  return ExampleBytes(sockets::make_answer(
      sockets::Verdict::yield, sockets::keys_of_listener(kSecret, make_introduction(), make_challenge())));
});
ExampleBytes sealed_frame(sockets::Protection protection) {
  sockets::prepare_greetings();
  sockets::Sealer sealer(kSecret, protection, false);
  std::vector<std::byte> bytes;
  // The second frame: its number is in what protects it.
  for (int frame = 0; frame < 2; ++frame) {
    bytes.assign(sockets::Sealer::size_of(5), std::byte{0});
    std::memcpy(bytes.data() + sizeof(sockets::FrameHead), "hello", 5);
    sealer.seal(bytes.data(), 5);
  }
  return ExampleBytes().add(bytes.data(), bytes.size());
}
const Example encrypted("encrypted frame", [] { return sealed_frame(sockets::Protection::encrypted); });
const Example authenticated("authenticated frame",
                            [] { return sealed_frame(sockets::Protection::authenticated); });
const Example addresses("addresses of a rank", [] {
  sockets::Endpoints endpoints{.port = 0x0102, .network_namespace = kA, .addresses = {}};
  endpoints.addresses.push_back({.family = 4, .prefix = 24, .bytes = {10, 1, 2, 3}});
  endpoints.addresses.push_back({.family = 6, .prefix = 64, .is_loopback = 1, .bytes = {0xfe, 0x80}});
  const std::vector<std::byte> bytes = sockets::encode(endpoints);
  return ExampleBytes().add(bytes.data(), bytes.size());
});

// Joining.

const Example card("card", [] {
  bootstrap::contact::Card made;
  made.version = "1.2";
  made.boot_id = kA;
  made.network_namespace = kB;
  made.host_name = "alpha";
  made.job_id = "0123456789abcdef0123456789abcdef";
  made.key = counted<32>(0x20);
  made.addresses.assign(3, std::byte{0x77});
  const std::vector<std::byte> bytes = encode(made);
  return ExampleBytes().add(bytes.data(), bytes.size());
});
const Example fault("card of a rank that cannot join", [] {
  const std::vector<std::byte> bytes = bootstrap::contact::encode_fault("no");
  return ExampleBytes().add(bytes.data(), bytes.size());
});
const Example arrival_greeting("greeting of rank 0", [] {
  bootstrap::contact::Greeting greeting;
  greeting.has_secret = 1;
  greeting.nonce = counted<16>(0x40);
  greeting.key = counted<32>(0x60);
  return ExampleBytes(greeting);
});
const Example arrival("arrival, up to the sealed card", [] {
  bootstrap::contact::Arrival made;
  made.has_secret = 1;
  made.rank = 0x01020304;
  made.size = 0x05060708;
  made.nonce = counted<16>(0x40);
  made.key = counted<32>(0x60);
  return ExampleBytes().add(&made, offsetof(bootstrap::contact::Arrival, sealed));
});
const Example result_head("head of a result", [] {
  return ExampleBytes(
      bootstrap::contact::ResultHead{.kind = bootstrap::contact::ResultKind::text, .bytes = 0x01020304});
});
const Example sized_card("card before it is sealed, its begin", [] {
  const bootstrap::contact::SizedCard sized = bootstrap::contact::to_sized(counted<5>(1));
  return ExampleBytes().add(&sized, 16);
});

// The launcher.

const Example launcher_header("header to the launcher", [] {
  return ExampleBytes(
      bootstrap::local::Header{0x01020304, 0x05060708, bootstrap::local::Message::agree, 0x090a0b0c});
});
const Example launcher_answer("header of the launcher", [] {
  return ExampleBytes(bootstrap::local::Header{1, 2, bootstrap::local::Message::failed, -1});
});
const Example board("board with a value", [] {
  bootstrap::local::Board made("0123456789abcdef0123456789abcdef", 2, bootstrap::local::Board::Holds::all);
  made.publish(1, "key", counted<5>(1));
  made.mark_failed(1);
  constexpr std::size_t kBytes = 128 + 4 * 256 + 4;
  void* const page = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, made.descriptor(), 0);
  ExampleBytes bytes;
  const auto* const first = static_cast<const std::byte*>(page);
  bytes.add(first, 128).add(first + 128 + 2 * 256, 40).add(first + 128 + 4 * 256, 4);
  ::munmap(page, kBytes);
  return bytes;
});
const Example agreed("statement of a rank", [] {
  bootstrap::Statement statement("alpha");
  statement.add("network (WEFT_NETWORK)", "tcp");
  return ExampleBytes().add(statement.text().data(), statement.text().size());
});
const Example relay_frame("header of a frame between hosts", [] {
  return ExampleBytes(bootstrap::relay::FrameHeader{
      static_cast<std::uint32_t>(bootstrap::relay::FrameKind::end_rank), 0x01020304, 0x05060708, 0x090a0b0c});
});

}  // namespace
}  // namespace weft::test
