// Ranks of one process with a port each, on the network that WEFT_NETWORK names, and what they have been
// told.
#pragma once

#include "base/attributes.hpp"
#include "bootstrap/in_process/hub.hpp"
#include "core/packet/packet_pool.hpp"
#include "network/network.hpp"
#include "network/registry/registry.hpp"
#include "support/message_sink.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft::network::test {

using weft::test::payload;

inline constexpr std::uint8_t kChannel = 9;

/// Notes what it is told.
class Notes final : public weft::test::MessageSink {
 public:
  struct Arrival {
    int peer;
    std::uint64_t word;
    std::vector<std::byte> bytes;
  };
  struct Immediate {
    int peer;
    std::uint64_t value;
    std::size_t bytes;
    friend bool operator==(const Immediate&, const Immediate&) = default;
  };
  bool take(std::uint8_t channel, std::uint64_t word, Message& message) noexcept override {
    EXPECT_EQ(channel, kChannel);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(message.data()) % 16, 0U);
    if (takes != nullptr && !takes(word)) return false;
    arrivals.push_back({message.peer(), word, {message.bytes().begin(), message.bytes().end()}});
    if (keeps) kept.push_back(message.take());
    return true;
  }
  void reject(int peer, const char* what, std::uint64_t value) noexcept override {
    ADD_FAILURE() << "rank " << peer << ": " << what << " (" << value << ")";
  }
  void access_completed(std::uint64_t token, Outcome outcome) noexcept override {
    EXPECT_TRUE(ended.emplace(token, outcome).second) << "ended twice: " << token;
  }
  void immediate_arrived(int peer, std::uint64_t immediate, std::size_t bytes) noexcept override {
    if (on_immediate != nullptr) on_immediate();
    immediates.push_back({peer, immediate, bytes});
  }
  void landed(std::uint64_t name, std::size_t bytes) noexcept override { landings.emplace_back(name, bytes); }

  std::function<bool(std::uint64_t)> takes;
  std::function<void()> on_immediate;
  bool keeps = false;
  std::vector<Arrival> arrivals;
  std::vector<Message> kept;
  std::map<std::uint64_t, Outcome> ended;
  std::vector<Immediate> immediates;
  std::vector<std::pair<std::uint64_t, std::size_t>> landings;
};

inline std::unique_ptr<Network> make(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
                                     detail::PayloadLender& copier) {
  const std::string_view name = attributes.text(base::Attribute::network);
  return make_network(name == "auto" ? "shm" : name, bootstrap, attributes, copier);
}

/// One rank: its network, and a port with index 0 unless `without_port`.
struct Rank {
  Rank(bootstrap::Hub& hub, int rank, const base::Attributes& attributes, bool without_port = false)
      : bootstrap(hub.join(rank)), network(make(*bootstrap, attributes, pool)) {
    pool.attach(*network);
    if (!without_port) open();
  }
  ~Rank() {
    notes.kept.clear();
    port.reset();
  }
  void open() { port = network->open_port(0, path); }
  std::size_t poll() { return port != nullptr ? port->poll(notes, 64) : 0; }

  core::PacketPool pool{32};
  std::unique_ptr<bootstrap::Bootstrap> bootstrap;
  std::unique_ptr<Network> network;
  detail::DevicePath path;
  std::unique_ptr<Port> port;
  Notes notes;
};

class Stage {
 public:
  explicit Stage(int ranks, const std::vector<AttributeSetting>& settings = {})
      : attributes_(base::Attributes::load(settings)), hub_(ranks) {
    for (int rank = 0; rank < ranks; ++rank)
      ranks_.push_back(std::make_unique<Rank>(hub_, rank, attributes_));
  }
  ~Stage() {
    for (auto& rank : ranks_)
      if (rank != nullptr) rank->notes.takes = nullptr;
    EXPECT_TRUE(until([&] { return drained(); })) << "what was sent is not taken";
  }
  [[nodiscard]] Rank& operator[](int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Port& port(int rank) { return *(*this)[rank].port; }
  [[nodiscard]] Notes& notes(int rank) { return (*this)[rank].notes; }
  void leave(int rank) { ranks_[static_cast<std::size_t>(rank)].reset(); }

  void poll() {
    for (auto& rank : ranks_)
      if (rank != nullptr) rank->poll();
  }
  template <class Condition>
  [[nodiscard]] bool until(const Condition& condition) {
    return weft::test::until(condition, [this] { poll(); });
  }
  [[nodiscard]] bool drained() {
    for (auto& rank : ranks_)
      if (rank != nullptr && rank->port != nullptr && !rank->port->drained()) return false;
    return true;
  }
  /// Sends with patience; the answer that is not a matter of time.
  SendResult send(int from, const Outgoing& outgoing, Bytes payload) {
    SendResult result = SendResult::no_slot;
    EXPECT_TRUE(until([&] { return is_final(result = port(from).send(outgoing, payload)); }));
    return result;
  }
  SendResult send_packet(int from, const Outgoing& outgoing, Bytes payload) {
    Packet packet;
    EXPECT_TRUE(until([&] { return static_cast<bool>(packet = (*this)[from].pool.get()); }));
    if (!payload.empty()) std::memcpy(packet.data(), payload.data(), payload.size());
    SendResult result = SendResult::no_slot;
    EXPECT_TRUE(until(
        [&] { return is_final(result = port(from).send_packet(outgoing, packet.index(), payload.size())); }));
    if (result == SendResult::sent) packet.release();
    return result;
  }
  [[nodiscard]] static Outgoing to(int peer, std::uint64_t word, TrafficClass traffic = TrafficClass::data) {
    return {peer, 0, traffic, kChannel, false, word};
  }

  /// Opens the handles with the numbers from 0 on.
  void expose_handles(int rank, std::uint16_t count) {
    for (std::uint16_t id = 0; id < count; ++id)
      (*this)[rank].network->publish_handle(id, 1, HandleState::open);
  }
  /// Sends a message to each of them.
  [[nodiscard]] bool reaches_handles(int from, int to, std::uint16_t count) {
    for (std::uint16_t id = 0; id < count; ++id) {
      Outgoing outgoing = Stage::to(to, detail::handle_word(RemoteCompletion(id, 1, 0), 0));
      outgoing.to_handle = true;
      if (!until([&] { return port(from).send(outgoing, payload(8, id)) == SendResult::sent; })) return false;
    }
    return true;
  }

 private:
  static bool is_final(SendResult result) {
    return result == SendResult::sent || result == SendResult::peer_left;
  }
  base::Attributes attributes_;
  bootstrap::Hub hub_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace weft::network::test
