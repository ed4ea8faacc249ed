#include "unit/fuzz/decoders.hpp"

#include "base/descriptor.hpp"
#include "bootstrap/contact/card.hpp"
#include "bootstrap/job_id.hpp"
#include "bootstrap/launchers/environment/arrival.hpp"
#include "bootstrap/launchers/environment/environment.hpp"
#include "bootstrap/local/board.hpp"
#include "bootstrap/local/server.hpp"
#include "bootstrap/relay/frame_link.hpp"
#include "bootstrap/relay/relay.hpp"
#include "bootstrap/relay/root.hpp"
#include "sockets/addresses.hpp"
#include "sockets/greeting.hpp"

#include <sys/socket.h>

#include <cstring>
#include <memory>

namespace weft::fuzz {

namespace {

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

Decoder slurm_hosts() {
  return {"slurm-hosts",
          [](Bytes list) { static_cast<void>(bootstrap::contact::first_host(text_of(list))); },
          {seed_of_text("n[3-5,8]-ib,m1")}};
}

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

std::vector<Decoder> decoders() {
  sockets::prepare_greetings();
  return {addresses(), introduction(), card(), slurm_hosts(), frames(), arrival()};
}

const Registration kRegistration(&decoders);

}  // namespace

}  // namespace weft::fuzz
