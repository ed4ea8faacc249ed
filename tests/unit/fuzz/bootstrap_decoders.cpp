// What takes bytes from the launcher, from its ranks, and from agents of other hosts.
#include "unit/fuzz/decoders.hpp"

#include "base/clock.hpp"
#include "bootstrap/launchers/pmi1/pmi1.hpp"
#include "bootstrap/local/board.hpp"
#include "bootstrap/local/channel.hpp"
#include "bootstrap/local/launcher_protocol.hpp"
#include "bootstrap/local/server.hpp"
#include "bootstrap/local/socket.hpp"
#include "bootstrap/relay/agent.hpp"
#include "bootstrap/relay/frame_link.hpp"
#include "bootstrap/relay/relay.hpp"

#include <weft/error.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

namespace weft::fuzz {

namespace {

using bootstrap::local::Header;
using bootstrap::local::Message;

constexpr int kRanks = 4;

std::string job_id() { return "0123456789abcdef0123456789abcdef"; }
std::array<char, 32> job_bytes() {
  std::array<char, 32> bytes{};
  job_id().copy(bytes.data(), bytes.size());
  return bytes;
}

/// Requests of a rank, over the launcher's socket.
Decoder requests() {
  const std::array<char, 9> put{'k', 'e', 'y', 'v', 'a', 'l', 'u', 'e', '!'};
  const Header hello{32, 1, Message::hello, 0};
  const std::array<char, 3> key{'k', 'e', 'y'};
  return {
      "requests",
      [](Bytes bytes) {
        bootstrap::local::Server server(job_id(), kRanks, {}, {}, "weft-fuzz-" + std::to_string(::getpid()));
        const auto rank = bootstrap::local::connect_abstract(server.name());
        static_cast<void>(::send(rank.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
        ::shutdown(rank.get(), SHUT_WR);
        for (int count = 0; count < 4; ++count) server.serve();
      },
      {seed_of(hello, job_bytes(), Header{9, 2, Message::put, 3}, put, Header{3, 3, Message::get, 0}, key,
               Header{0, 4, Message::barrier, 0}, Header{0, 5, Message::leave, 0}),
       seed_of(hello, job_bytes(), Header{3, 2, Message::allgather, 0}, key, Header{3, 3, Message::agree, 0},
               key, Header{3, 4, Message::unreachable, 2}, key, Header{3, 5, Message::abort, 1}, key),
       seed_of(hello, job_bytes(), Header{3, 2, Message::lend, 0}, key, Header{3, 3, Message::borrow, 0}, key,
               Header{3, 4, Message::take_back, 0}, key, Header{3, 5, Message::loss, 0}, key)},
      kMemory,
      1000};
}

/// What the launcher answers.
Decoder answers() {
  return {"answers",
          [](Bytes bytes) {
            Pair pair(bytes);
            bootstrap::local::Channel channel(std::move(pair.own));
            try {
              for (int count = 0; count < 3; ++count)
                static_cast<void>(channel.ask(Message::barrier, 0, {}, {}, base::Deadline(0.5)));
            } catch (const Error&) {
              // The launcher has ended, or has said what cannot be.
            }
          },
          {seed_of(Header{0, 1, Message::done, 0}, Header{8, 2, Message::failed, 0}, std::uint64_t{7},
                   Header{0, 3, Message::missing, 0})}};
}

/// Frames of the root, as an agent takes them.
Decoder agent_frames() {
  using bootstrap::relay::FrameHeader;
  using bootstrap::relay::FrameKind;
  const auto number = [](FrameKind kind) { return static_cast<std::uint32_t>(kind); };
  const std::array<char, 4> why{'w', 'h', 'y', '.'};
  return {
      "agent-frames",
      [](Bytes bytes) {
        Pair pair(bytes);
        bootstrap::relay::Agent agent(job_id(), kRanks, {std::move(pair.own), {}},
                                      "weft-fuzz-agent-" + std::to_string(::getpid()));
        const auto rank = bootstrap::local::connect_abstract("weft-fuzz-agent-" + std::to_string(::getpid()));
        const Seed hello = seed_of(Header{32, 1, Message::hello, 0}, job_bytes());
        static_cast<void>(::send(rank.get(), hello.data(), hello.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
        for (int count = 0; count < 3; ++count) agent.serve();
        while (agent.take_end().has_value()) {
        }
      },
      {seed_of(FrameHeader{number(FrameKind::departed), 1, 2, 1}, std::uint8_t{1},
               FrameHeader{number(FrameKind::end_rank), 0, 3, 4}, why,
               FrameHeader{number(FrameKind::closed), 1, 0, 0}),
       seed_of(FrameHeader{number(FrameKind::message), 1, 0, sizeof(Header) + 4},
               Header{4, 1, Message::failed, 0}, why),
       seed_of(
           FrameHeader{number(FrameKind::message), 1, 0, sizeof(Header) + sizeof(bootstrap::local::Welcome)},
           Header{sizeof(bootstrap::local::Welcome), 1, Message::done, 0}, bootstrap::local::Welcome{})},
      kMemory,
      1000};
}

/// Lines of a process manager that speaks PMI-1.
Decoder pmi_lines() {
  return {
      "pmi-lines",
      [](Bytes bytes) {
        Pair pair(bytes);
        ::setenv("PMI_FD", std::to_string(pair.own.get()).c_str(), 1);
        ::setenv("PMI_RANK", "0", 1);
        ::setenv("PMI_SIZE", "2", 1);
        try {
          const auto contact = bootstrap::contact::join_pmi1();
          const std::array<std::byte, 8> own{};
          static_cast<void>(contact->exchange(own, base::Deadline(0.5)));
          static_cast<void>(contact->report({0, 1}, "why", base::Deadline(0.5)));
        } catch (const Error&) {
          // What cannot be said in this protocol.
        }
        for (const char* each : {"PMI_FD", "PMI_RANK", "PMI_SIZE"}) ::unsetenv(each);
      },
      {seed_of_text("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\ncmd=my_kvsname kvsname=kvs_1\n"
                    "cmd=put_result rc=0 msg=success\ncmd=put_result rc=0\ncmd=barrier_out\n"
                    "cmd=get_result rc=0 msg=success value=w00\ncmd=get_result rc=0 value=w\n"
                    "cmd=get_result rc=0 value=w0011\ncmd=get_result rc=0 value=w\n")}};
}

/// The board, which the launcher writes into memory that it shares with its ranks.
Decoder board() {
  bootstrap::local::Board seed(job_id(), kRanks, bootstrap::local::Board::Holds::some);
  const std::array<std::byte, 12> value{};
  seed.publish(1, "tcp.device.0", value);
  seed.mark_left(2);
  std::vector<std::byte> bytes(4096);
  const ssize_t size = ::pread(seed.descriptor(), bytes.data(), bytes.size(), 0);
  bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return {"board",
          [](Bytes content) {
            File file(content);
            try {
              const auto there = bootstrap::local::Board::open(file.take(), job_id(), kRanks);
              for (int rank = 0; rank < kRanks; ++rank) {
                std::vector<std::byte> found;
                static_cast<void>(there->look_up(rank, "tcp.device.0", found));
                static_cast<void>(there->has_failed(rank) || there->has_left(rank));
              }
            } catch (const Error&) {
              // It is not the board of this job.
            }
          },
          {bytes}};
}

std::vector<Decoder> decoders() { return {requests(), answers(), agent_frames(), pmi_lines(), board()}; }

const Registration kRegistration(&decoders);

}  // namespace

}  // namespace weft::fuzz
