// What a rank knows of others: their records, whether they are there, and who moves them.
#include "unit/clock/session/scripted_peer.hpp"

#include <future>
#include <thread>

namespace weft::network::session::test {
namespace {

class PeersKnown : public ScriptedPeer {
 protected:
  using Taker = Network::Taker;

  /// Publishes the record of the peer's device 0 as one of device 1, after a change.
  template <class Change>
  void publish_changed(const Change& change, std::size_t cut = 0) {
    std::vector<std::byte> value = *bootstraps_[kOwn]->try_get(kPeer, "double.device.0");
    DeviceRecord record{};
    std::memcpy(&record, value.data(), sizeof record);
    change(record);
    std::memcpy(value.data(), &record, sizeof record);
    value.resize(value.size() - cut);
    bootstraps_[kPeer]->put("double.device.1", value);
  }
  template <class Change>
  void expect_refused(const Change& change, const char* why, std::size_t cut = 0) {
    EXPECT_EXIT(
        {
          publish_changed(change, cut);
          static_cast<void>(peers_.find(kPeer, 1));
        },
        testing::ExitedWithCode(1), why);
  }
};

TEST_F(PeersKnown, have_the_addresses_that_they_publish) {
  EXPECT_EQ(peers_.find(kPeer, 0), std::vector(3, std::byte{0}));
  EXPECT_EQ(peers_.find(kPeer, 1), std::nullopt);
  publish_changed([](DeviceRecord&) {});
  EXPECT_EQ(peers_.find(kPeer, 1), std::vector(3, std::byte{0}));
}

TEST_F(PeersKnown, with_records_of_another_form_end_the_job) {
  const auto as_it_is = [](DeviceRecord&) {};
  expect_refused([](DeviceRecord& record) { ++record.magic; },
                 "double: device 1 of rank 2 published something that is no address");
  expect_refused(as_it_is, "published something that is no address", sizeof(DeviceRecord));
  expect_refused(as_it_is, "double: device 1 of rank 2 published an address that is cut off", 1);
  expect_refused([](DeviceRecord& record) { ++record.address_bytes; }, "an address that is cut off");
  expect_refused([](DeviceRecord& record) { record.version = 3; },
                 "speaks version 3, this build needs 9: all ranks must use the same version of weft");
  expect_refused([](DeviceRecord& record) { record.provider.fill('x'); },
                 "uses the provider \"x{63}\", this rank \"hand\": set nothing to the same on all ranks");
  expect_refused([](DeviceRecord& record) { record.message_bytes = 5; },
                 "takes messages of 5 bytes, this rank of 4096: set packet_size and inline_max to the same");
}

TEST_F(PeersKnown, are_asked_for_at_most_once_in_a_while) {
  EXPECT_EQ(peers_.find_now_and_then(kPeer, 1), std::nullopt);
  publish(kPeer, 1);
  clock_.advance(kMillisecond / 2);
  EXPECT_EQ(peers_.find_now_and_then(kPeer, 1), std::nullopt);
  clock_.advance(kMillisecond);
  EXPECT_NE(peers_.find_now_and_then(kPeer, 1), std::nullopt);
}

TEST_F(PeersKnown, are_looked_at_now_and_then) {
  EXPECT_FALSE(peers_.has_left(0)) << "nobody has looked for it";
  greet();
  EXPECT_FALSE(peers_.has_left(kPeer));
  end_peer();
  EXPECT_FALSE(peers_.has_left(kPeer)) << "that was just now";
  clock_.advance(20 * kMillisecond);
  EXPECT_FALSE(peers_.is_known_to_have_left(kPeer));
  EXPECT_TRUE(peers_.has_left(kPeer));
  EXPECT_TRUE(peers_.is_known_to_have_left(kPeer));
}

TEST_F(PeersKnown, that_are_lost_are_told_of_once) {
  testing::internal::CaptureStderr();
  base::Log log{base::LogLevel::warn, kOwn};
  Peers own(*bootstraps_[kOwn], {"other", "hand", "nothing"}, 4096, log);
  own.mark_left(kPeer, "its address cannot be used");
  own.mark_left(kPeer, "something else");
  own.mark_left(0, "");
  static_cast<void>(own.meet(0));
  EXPECT_TRUE(own.is_known_to_have_left(0));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("the network lost rank 2: its address cannot be used"), std::string::npos) << said;
  EXPECT_EQ(said.find("something else"), std::string::npos) << said;
  EXPECT_EQ(said.find("rank 0"), std::string::npos) << said;
}

TEST_F(PeersKnown, of_the_process_take_messages_where_another_thread_may_move_them) {
  EXPECT_TRUE(peers_.is_in_process(kPeer));
  EXPECT_FALSE(peers_.is_in_process(0)) << "it has no network";
  EXPECT_EQ(peers_.taker_of(kOwn), Taker::nobody);
  EXPECT_EQ(peers_.taker_of(0), Taker::living) << "a process of its own, as far as one can tell";
  EXPECT_EQ(peers_.taker_of(kPeer), Taker::nobody);
  std::promise<void> is_over;
  std::thread other([&] { is_over.get_future().wait(); });
  const auto first = peers_.taker_of(kPeer);
  others_[kPeer]->publish_closing(Network::Closing::devices);
  const auto second = peers_.taker_of(kPeer);
  is_over.set_value();
  other.join();
  EXPECT_EQ(first, Taker::living);
  EXPECT_EQ(second, Taker::closing);
  EXPECT_FALSE(peers_.is_watched_process(kPeer));
}

}  // namespace
}  // namespace weft::network::session::test
