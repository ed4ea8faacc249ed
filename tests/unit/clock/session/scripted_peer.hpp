// A device over a transport of the test, with a clock that the test moves, and a peer of which the test says
// what it sends.
#pragma once

#include "bootstrap/in_process/hub.hpp"
#include "unit/clock/session/transport_double.hpp"
#include "unit/clock/standing_clock.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

namespace weft::network::session::test {

/// Takes messages, as many as `room` says.
class SinkDouble final : public Sink {
 public:
  struct Delivered {
    std::uint8_t channel;
    std::uint64_t word;
    int rank;
    std::vector<std::byte> payload;
  };
  using Sink::deliver;
  void deliver(Batch& batch) noexcept override {
    batch.for_each([this](std::uint8_t channel, std::uint64_t word, Message& message) {
      if (room == 0) return false;
      --room;
      const Bytes bytes = message.bytes();
      delivered.push_back({channel, word, message.peer(), {bytes.begin(), bytes.end()}});
      return true;
    });
  }
  void reject(int, const char* what, std::uint64_t value) noexcept override {
    rejected.emplace_back(what);
    rejected_value = value;
  }
  void access_completed(std::uint64_t token, Outcome outcome) noexcept override {
    ended.emplace_back(token, outcome);
  }
  void immediate_arrived(int peer, std::uint64_t immediate, std::size_t bytes) noexcept override {
    immediates.push_back({static_cast<std::uint64_t>(peer), immediate, bytes});
  }
  void landed(std::uint64_t name, std::size_t bytes) noexcept override { landings.emplace_back(name, bytes); }

  [[nodiscard]] std::vector<std::uint64_t> words() const {
    std::vector<std::uint64_t> all;
    for (const Delivered& each : delivered) all.push_back(each.word);
    return all;
  }

  std::size_t room = ~std::size_t{0};
  std::vector<Delivered> delivered;
  std::vector<std::string> rejected;
  std::uint64_t rejected_value = 0;
  std::vector<std::pair<std::uint64_t, Outcome>> ended;
  std::vector<std::array<std::uint64_t, 3>> immediates;
  std::vector<std::pair<std::uint64_t, std::size_t>> landings;
};

/// This rank is 1 of 3; rank 2 is the peer. Nobody but the test moves the device: the courier has been ended.
class ScriptedPeer : public testing::Test {
 protected:
  struct How {
    std::uint32_t credits = 64;
    std::uint32_t first = 64;
    bool adapts = false;
    std::uint32_t held = 0;
    bool stages = false;
  };
  static constexpr int kOwn = 1;
  static constexpr int kPeer = 2;
  static constexpr std::int64_t kMillisecond = 1'000'000;

  ScriptedPeer() : ScriptedPeer(How{}) {}
  explicit ScriptedPeer(const How& how);
  ~ScriptedPeer() override;

  /// Another rank, or this one, is there: its device can be found.
  void publish(int rank, std::uint32_t device = 0);
  /// The peer's runtime ends.
  void end_peer() { others_[kPeer].reset(); }

  [[nodiscard]] Hello hello(std::uint32_t credits = 64) const;
  [[nodiscard]] static std::vector<std::byte> bytes_of_all(std::initializer_list<Bytes> parts);
  template <class Object>
  [[nodiscard]] static Bytes bytes_of_one(const Object& object) {
    return std::as_bytes(std::span(&object, 1));
  }
  void arrive(const Header& header, Bytes payload = {}) {
    transport_.arrive(bytes_of_all({bytes_of_one(header), payload}));
  }
  void arrive(Kind kind, Bytes payload = {}) { arrive({0, kPeer, 0, 0, kind, 0}, payload); }
  void arrive_message(std::uint64_t word, Kind kind = Kind::data) { arrive({word, kPeer, 0, 7, kind, 0}); }
  /// The peer has taken so many of the class data, and told so many messages of handles.
  void arrive_credit(std::uint32_t taken, std::uint32_t handles = 0);

  std::size_t poll(std::size_t limit = 64) { return device_->poll(sink_, limit); }
  /// Polls often enough that what is owed to peers that wait idle is looked at, if it is time for that.
  void poll_idly() {
    for (int count = 0; count < 200; ++count) poll();
  }
  SendResult send(std::uint64_t word, TrafficClass traffic = TrafficClass::data, std::size_t size = 0,
                  bool to_handle = false);
  /// Both say hello: the link is open. Returns what this rank has said.
  Transmitted greet(std::uint32_t credits = 64);
  /// What was sent of this kind; forgets it, and only it.
  std::vector<Transmitted> take_sent(Kind kind);
  /// What was rejected; forgets it.
  std::vector<std::string> take_rejected() { return std::exchange(sink_.rejected, {}); }

  weft::test::StandingClock clock_;
  bootstrap::Hub hub_{3};
  base::Log log_{base::LogLevel::error};
  std::array<std::unique_ptr<bootstrap::Bootstrap>, 3> bootstraps_;
  std::array<std::unique_ptr<Peers>, 3> others_;
  Peers peers_;
  HandleBoard board_;
  Courier courier_;
  Shared shared_;
  std::unique_ptr<TransportDouble> owned_ = std::make_unique<TransportDouble>();
  TransportDouble& transport_ = *owned_;
  std::unique_ptr<SessionDevice> device_;
  SinkDouble sink_;
};

}  // namespace weft::network::session::test
