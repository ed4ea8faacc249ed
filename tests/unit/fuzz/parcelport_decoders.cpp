// What the parcelport tcp takes from ranks that have proved themselves, and options of parcels as text.
#include "unit/fuzz/decoders.hpp"

#include "parcel/selection/option_text.hpp"
#include "study/parcelports/tcp/tcp_frame.hpp"
#include "study/parcelports/tcp/tcp_proof.hpp"
#include "study/parcelports/tcp/tcp_reader.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace weft::fuzz {

namespace {

namespace tcp = parcel::ports::tcp;

/// Takes messages whose chunks are small, and drops others.
class Port final : public tcp::PortParts, public parcel::Receiver {
 public:
  Port() { receiver = this; }
  int rank() const noexcept override { return 0; }
  int size() const noexcept override { return 2; }
  bool has_failed(int) const noexcept override { return false; }
  bool is_known_failed(int) const noexcept override { return has_failed_; }
  bool is_stopping() const noexcept override { return is_stopping_; }
  void fail(int) override { has_failed_ = true; }

  void on_small(int, Bytes) override {}
  bool place(parcel::IncomingMessage& message) override {
    std::uint64_t left = kMost;
    for (const std::uint64_t size : message.chunk_sizes) {
      if (size > left) return false;
      left -= size;
    }
    for (const std::uint64_t size : message.chunk_sizes)
      message.landings.emplace_back(chunks_.emplace_back(std::make_unique<std::byte[]>(size)).get(), size);
    return true;
  }
  void arrived(std::unique_ptr<parcel::IncomingMessage>) override {}
  void dropped(int, const char*) override {}
  void lost(std::unique_ptr<parcel::IncomingMessage>) override {}
  void sent(std::unique_ptr<parcel::OutgoingMessage>, bool) override {}
  void failed(int) override {}

  void stop() { is_stopping_ = true; }

 private:
  static constexpr std::uint64_t kMost = 1 << 16;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  bool has_failed_ = false;
  bool is_stopping_ = false;
};

/// Lets the port do what it can until nothing more comes.
void settle(Port& port) {
  for (int idle = 0; idle < 3; ++idle) {
    port.context.restart();
    if (port.context.poll() != 0) idle = -1;
  }
}

/// A rank that greets as it should, and then sends these bytes for frames.
void send_frames(Bytes bytes) {
  Port port;
  tcp::Contact contact = tcp::open_contact(false, "auto", "auto");
  tcp::FrameReader reader(port, contact);
  reader.start();
  asio::io_context callers;
  asio::ip::tcp::socket socket(callers);
  const sockets::Endpoints there = contact.endpoints();
  socket.connect({asio::ip::make_address(sockets::to_text(there.addresses.at(0))), there.port});
  tcp::Challenge challenge;
  while (socket.available() < sizeof challenge) settle(port);
  asio::read(socket, asio::buffer(&challenge, sizeof challenge));
  tcp::Greeting greeting;
  greeting.rank = 1;
  greeting.to = 0;
  greeting.proof = tcp::proof_of('c', port.secret, challenge, greeting);
  asio::write(socket, asio::buffer(&greeting, sizeof greeting));
  while (socket.available() < sizeof(tcp::Proof)) settle(port);
  asio::error_code ignored;
  asio::write(socket, asio::buffer(bytes.data(), bytes.size()), ignored);
  socket.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  settle(port);
  port.stop();
  reader.close_all();
  settle(port);
}

Decoder frames() {
  const tcp::FrameHeader small{.head_size = 8};
  const tcp::FrameHeader with_chunks{.head_size = 8, .chunks = 2};
  const tcp::FrameHeader leaves{};
  const std::uint64_t sizes[] = {4, 12};
  const std::uint64_t head = 1;
  const std::uint64_t chunks[] = {2, 3};
  return {"parcel-frames",
          &send_frames,
          {seed_of(small, head, leaves), seed_of(with_chunks, sizes, head, chunks, small, head),
           seed_of(tcp::FrameHeader{.head_size = ~std::uint64_t{0}, .chunks = 1 << 20}, sizes)}};
}

Decoder options() {
  return {
      "parcel-options",
      [](Bytes bytes) {
        const std::string text = text_of(bytes);
        try_to([&] {
          const parcel::CompleteOptions read = parcel::complete({.text = text});
          static_cast<void>(parcel::text_of_common(read));
          static_cast<void>(parcel::text_of(read.options, {}));
        });
      },
      {seed_of_text("port=weft,workers=2,protocol=sendrecv"), seed_of_text("aggregation=queued,zero_copy=64"),
       seed_of_text("progress=pinned,devices=2,stack=64K,pace=0,name=one")}};
}

std::vector<Decoder> decoders() { return {frames(), options()}; }

const Registration kRegistration(&decoders);

}  // namespace

}  // namespace weft::fuzz
