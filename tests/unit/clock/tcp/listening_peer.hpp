// A rank of the job that a test plays by hand, and which is called: it listens, and greets as the test says.
#pragma once

#include <weft/testing/in_process_job.hpp>

#include "unit/clock/standing_clock.hpp"
#include "unit/network/tcp/impostor.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace weft::network::tcp::test {

/// Rank 2 listens at one loopback address, which rank 1 calls to send to it.
class ListeningPeer : public testing::Test {
 protected:
  static constexpr std::int64_t kSecond = 1'000'000'000;

  explicit ListeningPeer(const char* log = "error")
      : job_(3),
        victim_(job_, 1, {.attributes = settings(log)}),
        endpoint_(victim_),
        bootstrap_(job_.hub().join(2)),
        listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&here), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&here), &size), 0);
    port_ = ntohs(here.sin_port);
    publish();
    EXPECT_FALSE(is_given_up());
  }

  base::Descriptor accept() { return base::Descriptor(::accept(listener_.get(), nullptr, nullptr)); }
  /// While the peer is being reached a send has to wait; to one that has been given up it ends.
  bool is_given_up() {
    return endpoint_.post_send(2, 7, bytes_of(word_), {.completion = &ended_}).is_accepted();
  }
  /// Lets this much time pass for each moment in which the victim calls progress. Its timers run by the
  /// kernel's clock.
  template <class Condition>
  bool goes_on_until(const Condition& condition, weft::test::StandingClock& clock, std::int64_t step) {
    for (int round = 0; round < 5000; ++round) {
      for (int count = 0; count < 100; ++count) endpoint_.progress();
      if (condition()) return true;
      clock.advance(step);
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    return false;
  }

 private:
  static std::vector<AttributeSetting> settings(const char* log) {
    return {{"network", "tcp"}, {"tcp_authenticate", "no"}, {"log", log}};
  }
  /// The victim's own record, but for the port, and for addresses other than the loopback.
  void publish() {
    const std::vector<std::byte> known = *bootstrap_->try_get(1, "tcp.device.0");
    auto endpoints = *decode(std::span(known).subspan(sizeof(session::DeviceRecord)));
    endpoints.port = port_;
    std::erase_if(endpoints.addresses,
                  [](const auto& each) { return !each.is_loopback || each.family != 4; });
    const std::vector<std::byte> address = encode(endpoints);
    session::DeviceRecord record{};
    std::memcpy(&record, known.data(), sizeof record);
    record.address_bytes = static_cast<std::uint32_t>(address.size());
    std::vector<std::byte> own(sizeof record);
    std::memcpy(own.data(), &record, sizeof record);
    own.insert(own.end(), address.begin(), address.end());
    bootstrap_->put("tcp.device.0", own);
  }

 protected:
  InProcessJob job_;
  Runtime victim_;
  Endpoint endpoint_;
  std::unique_ptr<bootstrap::Bootstrap> bootstrap_;
  Counter ended_;
  base::Descriptor listener_;
  std::uint16_t port_ = 0;
  std::uint64_t word_ = 1;
};

}  // namespace weft::network::tcp::test
