// A rank that was away while it looked for a peer, because its host is slow or its program computed, does not
// take its own absence for the peer's.
#include <weft/testing/in_process_job.hpp>

#include "unit/clock/standing_clock.hpp"
#include "unit/network/tcp/impostor.hpp"

#include <fcntl.h>

#include <chrono>
#include <thread>

namespace weft::network::tcp {
namespace {

using weft::test::StandingClock;

constexpr std::int64_t kSecond = 1'000'000'000;

/// Rank 2 listens, and closes whatever is accepted, as a rank does that has lost patience with a connection
/// over which nothing came.
class AbsentSearch : public testing::Test {
 protected:
  AbsentSearch()
      : job_(3),
        victim_(job_, 1, {.attributes = kTcp}),
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
    publish(ntohs(here.sin_port));
    EXPECT_FALSE(is_given_up());
  }

  /// The victim's own record, but for the port, and for addresses other than the loopback.
  void publish(std::uint16_t port) {
    const std::vector<std::byte> known = *bootstrap_->try_get(1, "tcp.device.0");
    auto endpoints = *decode(std::span(known).subspan(sizeof(session::DeviceRecord)));
    endpoints.port = port;
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
  bool is_called() { return bool(base::Descriptor(::accept(listener_.get(), nullptr, nullptr))); }

  /// While the peer is being reached a send has to wait; to one that has been given up it ends.
  bool is_given_up() {
    return endpoint_.post_send(2, 7, bytes_of(word_), {.completion = &ended_}).is_accepted();
  }
  /// Lets this much time pass for each moment in which the victim calls progress. Its timers run by the
  /// kernel's clock.
  template <class Condition>
  bool goes_on_until(const Condition& condition, StandingClock& clock, std::int64_t step) {
    for (int round = 0; round < 5000; ++round) {
      for (int count = 0; count < 100; ++count) endpoint_.progress();
      if (condition()) return true;
      clock.advance(step);
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    return false;
  }

  inline static const std::vector<AttributeSetting> kTcp = {
      {"network", "tcp"}, {"tcp_authenticate", "no"}, {"log", "error"}};

  InProcessJob job_;
  Runtime victim_;
  Endpoint endpoint_;
  std::unique_ptr<bootstrap::Bootstrap> bootstrap_;
  Counter ended_;
  base::Descriptor listener_;
  std::uint64_t word_ = 1;
};

TEST_F(AbsentSearch, goes_on_where_it_was) {
  ASSERT_TRUE(weft::test::until([&] { return is_called(); }, [&] { endpoint_.progress(); }));
  StandingClock clock;
  for (int count = 0; count < 1000; ++count) endpoint_.progress();
  clock.advance(600 * kSecond);
  EXPECT_TRUE(goes_on_until([&] { return is_called() || is_given_up(); }, clock, kSecond / 10));
  EXPECT_FALSE(is_given_up()) << "it was this rank that did not answer";
}

TEST_F(AbsentSearch, still_ends_where_nobody_listens) {
  listener_.close();
  StandingClock clock;
  EXPECT_TRUE(goes_on_until([&] { return is_given_up(); }, clock, kSecond / 2));
}

}  // namespace
}  // namespace weft::network::tcp
