#include "unit/fuzz/decoders.hpp"

#include "base/descriptor.hpp"
#include "bootstrap/contact/card.hpp"
#include "bootstrap/contact/environment/arrival.hpp"
#include "bootstrap/contact/environment/environment.hpp"
#include "bootstrap/in_process/hub.hpp"
#include "bootstrap/job_id.hpp"
#include "bootstrap/local/board.hpp"
#include "bootstrap/local/server.hpp"
#include "bootstrap/relay/frame_link.hpp"
#include "bootstrap/relay/relay.hpp"
#include "bootstrap/relay/root.hpp"
#include "network/session/message_format.hpp"
#include "network/tcp/connection.hpp"
#include "network/tcp/record.hpp"
#include "sockets/addresses.hpp"
#include "sockets/greeting.hpp"
#include "sockets/sealed_stream.hpp"
#include "sockets/tcp_socket.hpp"
#include "support/ranks.hpp"

#include <weft/error.hpp>

#include <arpa/inet.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>

namespace weft::fuzz {

namespace {

using Seed = std::vector<std::byte>;

template <class... Objects>
Seed seed_of(const Objects&... objects) {
  Seed seed;
  const auto append = [&seed](const auto& object) {
    const auto bytes = std::as_bytes(std::span(&object, 1));
    seed.insert(seed.end(), bytes.begin(), bytes.end());
  };
  (append(objects), ...);
  return seed;
}

std::string text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Addresses of a peer.
Decoder addresses() {
  sockets::Endpoints endpoints{4711, 99, {}};
  endpoints.addresses.resize(3);
  endpoints.addresses[0].family = 4;
  endpoints.addresses[1].family = 6;
  endpoints.addresses[2].family = 4;
  return {"addresses",
          [](Bytes bytes) {
            if (const auto there = sockets::decode(bytes); there.has_value())
              static_cast<void>(sockets::order_of_trial(*there, {}, there->network_namespace));
          },
          {sockets::encode(endpoints)}};
}

Decoder introduction() {
  sockets::Introduction seed;
  return {"introduction",
          [](Bytes bytes) {
            sockets::Introduction introduction;
            if (bytes.size() < sizeof introduction) return;
            std::memcpy(&introduction, bytes.data(), sizeof introduction);
            static_cast<void>(sockets::fault_of(introduction, "0123456789abcdef0123456789abcdef", 1, 3));
          },
          {seed_of(seed)}};
}

/// What a rank tells in the exchange of a launcher.
Decoder card() {
  bootstrap::contact::Card card;
  card.version = "0.1.0";
  card.addresses.resize(60);
  return {"card",
          [](Bytes bytes) { static_cast<void>(bootstrap::contact::decode(bytes)); },
          {bootstrap::contact::encode(card)}};
}

Decoder host_list() {
  const std::string text = "n[3-5,8]-ib,m1";
  const auto bytes = std::as_bytes(std::span(text));
  return {"host-list",
          [](Bytes list) { static_cast<void>(bootstrap::contact::first_host(text_of(list))); },
          {Seed(bytes.begin(), bytes.end())}};
}

struct Pair {
  Pair() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    own = base::Descriptor(ends[0]);
    peer = base::Descriptor(ends[1]);
  }
  base::Descriptor own;
  base::Descriptor peer;
};

/// Frames of the agent of another host.
Decoder frames() {
  using bootstrap::local::Message;
  using bootstrap::local::Server;
  using bootstrap::relay::FrameHeader;
  using bootstrap::relay::FrameKind;
  using LocalHeader = bootstrap::local::Header;
  static const std::string id = bootstrap::random_job_id();
  const auto number = [](FrameKind kind) { return static_cast<std::uint32_t>(kind); };
  std::array<char, 32> job{};
  id.copy(job.data(), job.size());
  const FrameHeader hello{number(FrameKind::message), 1, 0, sizeof(LocalHeader) + 32};
  const FrameHeader barrier{number(FrameKind::message), 1, 0, sizeof(LocalHeader)};
  const FrameHeader put{number(FrameKind::message), 1, 0, sizeof(LocalHeader) + 8};
  const FrameHeader closed{number(FrameKind::closed), 1, 0, 0};
  const FrameHeader ended{number(FrameKind::rank_ended), 0, 2, 8};
  return {
      "frames",
      [](Bytes bytes) {
        Pair pair;
        Server server(id, 4, {0, 1, 1, 2});
        bootstrap::relay::RemoteHost host(server, 1, {std::move(pair.own), {}});
        static_cast<void>(::send(pair.peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
        host.serve();
        server.serve();
      },
      {seed_of(hello, LocalHeader{32, 1, Message::hello, 1}, job, barrier,
               LocalHeader{0, 2, Message::barrier, 0}, closed),
       seed_of(hello, LocalHeader{32, 1, Message::hello, 1}, job, put, LocalHeader{8, 2, Message::put, 4},
               job[0], job[1], job[2], job[3], job[4], job[5], job[6], job[7], ended, std::uint64_t{0})}};
}

/// Records of a rank that has greeted. A runtime of its own for each input: what is wrong ends the
/// connection.
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
            const base::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
            sockaddr_in address{};
            address.sin_family = AF_INET;
            address.sin_port = htons(there->port);
            address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
              std::abort();
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
           seed_of(put, head, std::uint64_t{1}, std::uint64_t{2}, leave)}};
}

/// What another rank tells rank 0, which its keys do not open.
Decoder arrival() {
  using bootstrap::contact::Arrival;
  return {"arrival",
          [](Bytes bytes) {
            Arrival told;
            if (bytes.size() < sizeof told) return;
            std::memcpy(&told, bytes.data(), sizeof told);
            const auto keys = bootstrap::contact::keys_of(sockets::make_key_pair(), told.key, {}, told);
            bootstrap::contact::SizedCard card;
            const auto room = std::as_writable_bytes(std::span(&card, 1));
            if (keys.has_value() && sockets::unseal_once(keys->arrival, told.sealed, room)) std::abort();
            std::memcpy(&card, told.sealed.data(), sizeof card);
            static_cast<void>(bootstrap::contact::from_sized(card));
          },
          {seed_of(Arrival())}};
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

}  // namespace

std::vector<Decoder> all_decoders() {
  sockets::prepare_greetings();
  std::vector<Decoder> all{addresses(), introduction(), card(),    host_list(),
                           frames(),    records(),      arrival(), sealed_frames()};
  for (Decoder& each : decoders_of_parcels()) all.push_back(std::move(each));
  return all;
}

}  // namespace weft::fuzz
