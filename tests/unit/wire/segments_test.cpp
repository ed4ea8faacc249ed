// Shared memory as it is: a segment that was laid out, and a lane in which a sender has written.
#include "conformance/network/stage.hpp"
#include "network/shm/lane/send_state.hpp"
#include "network/shm/segment/segment.hpp"
#include "unit/wire/example.hpp"

#include <cstring>
#include <string_view>

namespace weft::test {
namespace {

using namespace network::shm;
using network::TrafficClass;
using network::test::Stage;

/// Bytes of memory that others may read, as they are at this moment.
ExampleBytes bytes_at(const void* first, std::size_t count) {
  std::vector<std::byte> copy(count);
  std::memcpy(copy.data(), first, count);
  return ExampleBytes().add(copy.data(), count);
}

const Example segment_header("header of a segment, up to its return stacks", [] {
  const Segment segment(0x010203, "0123456789abcdef0123456789abcdef",
                        {.bytes = 16U << 20,
                         .devices_max = 3,
                         .regions_max = 5,
                         .packets = 7,
                         .packet_payload = 4112,
                         .lanes = 64,
                         .ranks = 4});
  // Where the packets begin depends on the size of the kernel's pages.
  return bytes_at(segment.mapping().base(), 192).any(88, 8);
});

/// A rank that has sent to another one, which has not looked yet.
class Sent {
 public:
  Sent(std::uint8_t channel, TrafficClass traffic, std::string_view payload, bool in_packet) {
    // Until then, the lane is opened.
    EXPECT_EQ(stage_.send(0, Stage::to(1, 0, traffic), {}), network::SendResult::sent);
    EXPECT_TRUE(stage_.until([&] { return stage_.notes(1).arrivals.size() == 1; }));
    stage_.notes(1).takes = [](std::uint64_t) { return false; };
    lane_ = stage_[0].path.lane(1, 0);
    slot_ = &lane_->at(lane_->tail());
    network::Outgoing outgoing = Stage::to(1, 0x1122334455667788, traffic);
    outgoing.channel = channel;
    const Bytes bytes = std::as_bytes(std::span(payload));
    if (in_packet)
      EXPECT_EQ(stage_.send_packet(0, outgoing, bytes), network::SendResult::sent);
    else
      EXPECT_EQ(stage_.port(0).send(outgoing, bytes), network::SendResult::sent);
  }
  ~Sent() { stage_.notes(1).takes = nullptr; }
  [[nodiscard]] ExampleBytes slot(std::size_t bytes) const { return bytes_at(slot_, bytes); }
  [[nodiscard]] ExampleBytes announcement() const {
    const auto& state = *static_cast<const SendState*>(lane_);
    // Where the ring and the reply slot lie.
    return bytes_at(&state.area->announcement(state.index), sizeof(Announcement)).any(8, 8).any(24, 4);
  }

 private:
  Stage stage_{2, {{"network", "shm"}, {"lane_slots", "64"}, {"packet_size", "4K"}}};
  detail::SendLane* lane_ = nullptr;
  const detail::Slot* slot_ = nullptr;
};

const Example slot_of_message("slot with a message of five bytes", [] {
  return Sent(network::test::kChannel, TrafficClass::data, "hello", false).slot(16 + 5);
});
const Example slots_of_message("slots with a message of sixty bytes", [] {
  return Sent(network::test::kChannel, TrafficClass::data,
              "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX", false)
      .slot(64 + 12);
});
const Example slot_of_packet("slot with a packet of five bytes", [] {
  // Which packet it is depends on those that were in use before.
  return Sent(network::test::kChannel, TrafficClass::data, "hello", true).slot(32).any(16, 4);
});
const Example announcement("announcement of a lane", [] {
  return Sent(network::test::kChannel, TrafficClass::data, "hello", false).announcement();
});

}  // namespace
}  // namespace weft::test
