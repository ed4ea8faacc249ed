// What takes bytes from connections between ranks: greetings, what is sealed, records, and the messages in
// them.
#include <weft/testing/in_process_job.hpp>

#include "unit/fuzz/decoders.hpp"

#include "base/log.hpp"
#include "bootstrap/in_process/hub.hpp"
#include "network/session/link/message_format.hpp"
#include "network/tcp/connection/connection.hpp"
#include "network/tcp/connection/record.hpp"
#include "sockets/acceptor.hpp"
#include "sockets/addresses.hpp"
#include "sockets/greeting.hpp"
#include "sockets/sealed_stream.hpp"
#include "sockets/tcp_socket.hpp"
#include "support/ranks.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <memory>

namespace weft::fuzz {

namespace {

/// Connects to a port of this host; closing leaves nothing behind in the kernel.
base::Descriptor connect_to(std::uint16_t port) {
  base::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const linger at_once{1, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::abort();
  return socket;
}

/// What a stranger says to a rank that listens: nobody is let in who has not proved himself.
Decoder greetings() {
  static const std::string id(32, 'a');
  static const sockets::Key secret{};
  sockets::Introduction seed;
  id.copy(seed.job_id.data(), seed.job_id.size());
  seed.from_rank = 1;
  seed.to_rank = 0;
  return {
      "greetings",
      [](Bytes bytes) {
        const base::Log log(base::LogLevel::error, 0);
        sockets::Inbox inbox;
        sockets::Acceptor acceptor({id, secret, 0, 3, 5.0}, sockets::listen_in({}), log);
        acceptor.open(0, inbox);
        const base::Descriptor stranger = connect_to(acceptor.port());
        static_cast<void>(::send(stranger.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
        ::shutdown(stranger.get(), SHUT_WR);
        for (int count = 0; count < 8; ++count) acceptor.serve();
        if (inbox.take_all() != nullptr) std::abort();
      },
      {seed_of(seed), seed_of(seed, sockets::Proof{})},
      std::size_t{1} << 20,
      300};
}

/// Frames that nobody has sealed: none is taken for one of the peer's.
Decoder sealed_frames() {
  const sockets::FrameHead head{7, 48, 0};
  return {
      "sealed-frames",
      [](Bytes bytes) {
        Pair pair;
        sockets::SealedStream stream;
        stream.protect({.protection = sockets::Protection::encrypted, .uses_aes = sockets::has_aes()});
        static_cast<void>(::send(pair.peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
        std::array<std::byte, 256> room;
        const iovec part{room.data(), room.size()};
        if (stream.receive(pair.own.get(), {&part, 1}) > 0) std::abort();
      },
      {seed_of(head, std::array<std::byte, 64>())}};
}

/// Records of a rank that has greeted, and what is in them. A runtime of its own for each input: what is
/// wrong ends the connection.
Decoder records() {
  using network::tcp::FetchRequest;
  using network::tcp::Record;
  using network::tcp::RecordKind;
  network::session::Header header{};
  header.rank = 2;
  header.kind = network::session::Kind::hello;
  const Record message{sizeof header, RecordKind::message, {}, 0};
  const Record fetch{sizeof(FetchRequest), RecordKind::fetch, {}, 5};
  const Record get{sizeof(FetchRequest), RecordKind::get, {}, 6};
  const Record put{sizeof(network::tcp::PutHead) + 16, RecordKind::put, {}, 7};
  const network::tcp::PutHead head{network::tcp::key_of({0, 1}), 0, 0, 0};
  const Record leave{0, RecordKind::leave, {}, 0};
  const FetchRequest request{1, 0, 100};
  return {"records",
          [](Bytes bytes) {
            static const std::vector<AttributeSetting> settings = {
                {"network", "tcp"}, {"tcp_authenticate", "no"}, {"log", "error"}, {"packets", "64"}};
            InProcessJob job(3);
            Runtime victim(job, 1, {.attributes = settings});
            Endpoint endpoint(victim);
            const auto rank = job.hub().join(2);
            const auto record = rank->try_get(1, "tcp.device.0");
            const auto there =
                sockets::decode(std::span(*record).subspan(sizeof(network::session::DeviceRecord)));
            const base::Descriptor socket = connect_to(there->port);
            sockets::Introduction own;
            rank->job_id().copy(own.job_id.data(), own.job_id.size());
            own.from_rank = 2;
            own.to_rank = 1;
            const auto await = [&](auto& object) {
              while (::recv(socket.get(), &object, sizeof object, MSG_DONTWAIT | MSG_PEEK) !=
                     static_cast<ssize_t>(sizeof object))
                endpoint.progress();
              static_cast<void>(::recv(socket.get(), &object, sizeof object, 0));
            };
            static_cast<void>(::send(socket.get(), &own, sizeof own, MSG_NOSIGNAL));
            sockets::Challenge challenge;
            await(challenge);
            const auto proof = sockets::proof_of_connector(rank->secret(), own, challenge);
            static_cast<void>(::send(socket.get(), &proof, sizeof proof, MSG_NOSIGNAL));
            sockets::Answer answer;
            await(answer);
            static_cast<void>(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
            for (int count = 0; count < 20; ++count) endpoint.progress();
          },
          {seed_of(message, header, leave),
           seed_of(fetch, request, std::uint64_t{0}, get, request, std::uint64_t{0}, leave),
           seed_of(put, head, std::uint64_t{1}, std::uint64_t{2}, leave)},
          std::size_t{16} << 20,
          100};
}

std::vector<Decoder> decoders() { return {greetings(), sealed_frames(), records()}; }

const Registration kRegistration(&decoders);

}  // namespace

}  // namespace weft::fuzz
