// Ranks over the simulated network by itself, and what they receive.
#pragma once

#include "network/sim/sim_network.hpp"

#include "bootstrap/in_process/hub.hpp"
#include "support/message_sink.hpp"
#include "support/no_copier.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace weft::network::sim::test_job {

inline constexpr std::uint8_t kChannel = 9;

class Inbox final : public weft::test::MessageSink {
 public:
  bool take(std::uint8_t channel, std::uint64_t word, Message& message) noexcept override {
    EXPECT_EQ(channel, kChannel);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(message.data()) % 16, 0U);
    if (takes != nullptr && !takes(word)) return false;
    words.push_back(word);
    sizes.push_back(message.size());
    unsigned sum = 0;
    for (const std::byte byte : message.bytes()) sum += std::to_integer<unsigned>(byte);
    sums.push_back(sum);
    if (keep) kept.push_back(message.take());
    return true;
  }
  void reject(int, const char* what, std::uint64_t) noexcept override { ADD_FAILURE() << what; }
  void access_completed(std::uint64_t token, Outcome outcome) noexcept override { ended[token] = outcome; }
  void immediate_arrived(int peer, std::uint64_t immediate, std::size_t) noexcept override {
    if (on_immediate != nullptr) on_immediate();
    immediates.emplace_back(peer, immediate);
  }

  std::function<bool(std::uint64_t)> takes;
  std::function<void()> on_immediate;
  bool keep = false;
  std::vector<std::uint64_t> words;
  std::vector<std::size_t> sizes;
  std::vector<unsigned> sums;
  std::vector<Message> kept;
  std::map<std::uint64_t, Outcome> ended;
  std::vector<std::pair<int, std::uint64_t>> immediates;
};

using Settings = std::vector<AttributeSetting>;

/// Ranks with one device each.
class Job {
 public:
  explicit Job(int ranks, const Settings& settings = {})
      : attributes_(base::Attributes::load(settings, nullptr)),
        hub_(ranks),
        fabric(std::make_shared<SimulatedFabric>(SimulationParameters(attributes_), ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
      bootstraps_.push_back(hub_.join(rank));
      networks.push_back(std::make_unique<SimNetwork>(*bootstraps_.back(), attributes_, copier_, fabric));
      paths_.push_back(std::make_unique<detail::DevicePath>());
      ports.push_back(networks.back()->open_port(0, *paths_.back()));
      ports.back()->set_exclusive(true);
      inboxes.push_back(std::make_unique<Inbox>());
    }
  }
  ~Job() {
    inboxes.clear();
    ports.clear();
    networks.clear();
  }

  void poll(int rank) {
    const auto at = static_cast<std::size_t>(rank);
    ports[at]->poll(*inboxes[at], 64);
  }
  void poll_all(int times = 1) {
    for (; times > 0; --times)
      for (int rank = 0; rank < static_cast<int>(ports.size()); ++rank) poll(rank);
  }
  Port& port(int rank) { return *ports[static_cast<std::size_t>(rank)]; }
  Inbox& inbox(int rank) { return *inboxes[static_cast<std::size_t>(rank)]; }
  Network& network(int rank) { return *networks[static_cast<std::size_t>(rank)]; }

  SendResult send(int from, int to, std::uint64_t word, TrafficClass traffic = TrafficClass::data) {
    const std::byte payload[3] = {std::byte{1}, std::byte{2}, std::byte{3}};
    return port(from).send({to, 0, traffic, kChannel, false, word}, payload);
  }
  /// Polls the sender until the message is on its way.
  void send_patiently(int from, int to, std::uint64_t word, TrafficClass traffic = TrafficClass::data) {
    for (int tries = 0; send(from, to, word, traffic) != SendResult::sent; ++tries) {
      ASSERT_LT(tries, 10'000);
      poll_all();
    }
  }

 private:
  base::Attributes attributes_;
  bootstrap::Hub hub_;
  weft::test::NoCopier copier_;
  std::vector<std::unique_ptr<bootstrap::Bootstrap>> bootstraps_;
  std::vector<std::unique_ptr<detail::DevicePath>> paths_;

 public:
  std::shared_ptr<SimulatedFabric> fabric;
  std::vector<std::unique_ptr<SimNetwork>> networks;
  std::vector<std::unique_ptr<Port>> ports;
  std::vector<std::unique_ptr<Inbox>> inboxes;
};

}  // namespace weft::network::sim::test_job
