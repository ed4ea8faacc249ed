// What a rank writes into a socket of the network tcp, as the other one reads it: records, headers, and what
// is in them.
#include "unit/network/tcp/impostor.hpp"
#include "unit/wire/example.hpp"

#include <string_view>

namespace weft::test {
namespace {

using network::session::Kind;
using network::tcp::RecordKind;

/// A rank that is not there, to which one writes that is.
class Reader final : public network::tcp::test::TcpImpostor {
 public:
  Reader() {
    const network::session::HandleChange own{7, 0x0102, 0, 0, 1};
    hello_ = exchange_hellos(std::as_bytes(std::span(&own, 1)));
  }
  void TestBody() override {}

  /// The record that was read last, and its bytes without the padding.
  [[nodiscard]] ExampleBytes all(const std::vector<std::byte>& bytes) const {
    return ExampleBytes(record_).add(bytes.data(), record_.bytes);
  }
  ExampleBytes message(std::string_view payload, std::uint32_t tag) {
    const RemoteCompletion there(7, 0x0102, 0);
    EXPECT_TRUE(until(
        [&] {
          return !endpoint_.post_am(2, there, std::as_bytes(std::span(payload)), {.tag = tag}).is_retry();
        },
        [&] { endpoint_.progress(); }));
    return all(read_message(Kind::data));
  }
  /// Of the messages that are posted between two polls, the first leaves at once, and those behind it
  /// together, unless the courier comes in between.
  ExampleBytes frame() {
    const RemoteCompletion there(7, 0x0102, 0);
    for (int tries = 0; tries < 20 && !HasFailure(); ++tries) {
      std::uint32_t left = 0;
      for (const std::string_view text : {"first", "second", "third"}) {
        const Status status = endpoint_.post_am(2, there, std::as_bytes(std::span(text)), {.tag = 0x0304});
        left += status.is_retry() ? 0 : 1;
      }
      ExampleBytes found;
      while (left > 0 && !HasFailure()) {
        const std::vector<std::byte> bytes = read_message(Kind::data);
        network::session::Header header{};
        std::memcpy(&header, bytes.data(), sizeof header);
        const Bytes payload = Bytes(bytes).first(record_.bytes).subspan(sizeof header);
        const bool is_frame = (header.flags & network::session::kIsFrame) != 0;
        const std::uint32_t count = is_frame ? network::session::messages_in_frame(payload) : 1;
        if (count == 2 && left == 2) found = all(bytes);
        left -= count;
      }
      if (found.size() != 0) return found;
    }
    return {};
  }
  ExampleBytes credit() {
    CompletionQueue queue;
    const RemoteCompletion handle = victim_.expose(queue, {.id = 5});
    const network::session::Header header{
        handle.bits() & ~std::uint64_t{0xffffffff}, 2, 0, detail::kActiveMessageChannel, Kind::urgent, 0};
    send_record({sizeof header, RecordKind::message, {}, 0}, std::as_bytes(std::span(&header, 1)));
    network::session::Ask ask{};
    ask.sent[2] = 1;
    send_message(Kind::ask, std::as_bytes(std::span(&ask, 1)));
    return all(read_message(Kind::credit));
  }
  ExampleBytes get() {
    std::array<std::byte, 10'000> room;
    CompletionQueue gets;
    const RemoteRegion region{2, 0x0102, 0x03040506, 0, 1 << 20, 0, 0};
    EXPECT_TRUE(until(
        [&] { return endpoint_.post_get(2, region.at(0x0708), room, {.completion = &gets}).is_posted(); },
        [&] { endpoint_.progress(); }));
    const ExampleBytes made = all(read_record(RecordKind::get)).any(8, 8);  // the name of the request
    send_record({1, RecordKind::get_completed, {}, record_.token}, {});
    return made;
  }

 private:
  std::vector<std::byte> read_message(Kind kind) {
    for (;;) {
      const std::vector<std::byte> bytes = read_record(RecordKind::message);
      network::session::Header header{};
      if (HasFailure()) return bytes;
      std::memcpy(&header, bytes.data(), sizeof header);
      if (header.kind == kind) return bytes;
    }
  }
  network::session::Hello hello_{};
};

const Example hello("greeting of a device in its record", [] {
  class Greeted final : public network::tcp::test::TcpImpostor {
   public:
    void TestBody() override {}
    ExampleBytes bytes() {
      Counter counter;
      static_cast<void>(victim_.expose(counter, {.id = 0x0506}));
      const network::session::HandleChange own{7, 1, 0, 0, 1};
      ExampleBytes made;
      bootstrap_->put("tcp.device.0", *bootstrap_->try_get(1, "tcp.device.0"));  // any address will do
      network::session::Hello own_hello{network::session::kMagic, network::session::kWireVersion, 64, 0, {}};
      bootstrap_->job_id().copy(own_hello.job_id.data(), own_hello.job_id.size());
      std::vector<std::byte> payload(sizeof own_hello + sizeof own);
      std::memcpy(payload.data(), &own_hello, sizeof own_hello);
      std::memcpy(payload.data() + sizeof own_hello, &own, sizeof own);
      send_message(Kind::hello, payload);
      const std::vector<std::byte> bytes = read_record(RecordKind::message);
      made.add(record_).add(bytes.data(), record_.bytes);
      return made.any(16 + 16 + 8, 4).any(16 + 16 + 16, 32);  // credits, and the job's id
    }
  };
  return Greeted().bytes();
});
const Example message("active message in its record", [] { return Reader().message("hello", 0x03040506); });
const Example frame("frame of two messages in its record", [] { return Reader().frame(); });
const Example credit("credit in its record", [] { return Reader().credit(); });
const Example get("request of a get in its record", [] { return Reader().get(); });

}  // namespace
}  // namespace weft::test
