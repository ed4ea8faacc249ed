// Objects answer with their effective attributes.
#include <weft/testing/in_process_job.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

TEST(Attributes, of_devices_and_endpoints_are_the_effective_ones) {
  test::Ranks<SerialEndpoint> ranks(
      1, {{"requests", "128"}, {"backlog", "64"}, {"backlog_peer", "32"}, {"unexpected_credits", "32"}});
  const DeviceAttributes serial = ranks.endpoint(0).attributes();
  EXPECT_EQ(std::string(serial.network), ranks.runtime(0).network());
  EXPECT_EQ(serial.index, 0U);
  EXPECT_TRUE(serial.is_serial);
  EXPECT_EQ(serial.requests, 128U);
  EXPECT_EQ(serial.backlog, 64U);
  EXPECT_EQ(serial.unexpected_credits, 32U);
  EXPECT_LE(serial.inline_bytes, serial.packet_bytes);

  const Device device(ranks.runtime(0), {.index = 3});
  EXPECT_EQ(device.attributes().index, 3U);
  EXPECT_FALSE(device.attributes().is_serial);
  // libfabric's providers take no packet as long as the default.
  EXPECT_LE(device.attributes().packet_bytes, test::size_attribute(ranks.runtime(0), "packet_size"));
  EXPECT_GE(device.attributes().packet_bytes, 1024U);
}

TEST(Attributes, of_devices_are_known_before_one_is_open) {
  InProcessJob job(1);
  for (const char* rendezvous : {"copy", "read"}) {
    const AttributeSetting attributes[] = {
        {"packet_size", "4K"}, {"requests", "64"}, {"rendezvous", rendezvous}};
    Runtime runtime(job, 0, {.attributes = attributes});
    const DeviceAttributes limits = runtime.device_limits();
    const Device device(runtime, {.index = 2});
    const DeviceAttributes open = device.attributes();
    EXPECT_EQ(std::string(limits.network), open.network);
    EXPECT_EQ(limits.inline_bytes, open.inline_bytes);
    EXPECT_GE(limits.inline_bytes, 1U);
    EXPECT_EQ(limits.packet_bytes, open.packet_bytes);
    EXPECT_GE(limits.packet_bytes, 1024U);
    EXPECT_EQ(limits.immediate_bytes, open.immediate_bytes);
    EXPECT_EQ(limits.reads_peers, open.reads_peers);
    EXPECT_EQ(limits.requests, 64U);
    EXPECT_EQ(limits.backlog, open.backlog);
    EXPECT_EQ(limits.unexpected_credits, open.unexpected_credits);
    EXPECT_EQ(open.index, 2U);
  }
}

TEST(Attributes, of_matching_engines_are_the_effective_ones) {
  test::Ranks<> ranks(1, {{"matching_buckets", "1024"}, {"matching_records", "5000"}});
  const MatchingEngine engine(ranks.runtime(0),
                              {.id = 2,
                               .serial = true,
                               .make_key = [](int, std::uint64_t tag, const void*) noexcept { return tag; }});
  const MatchingEngineAttributes attributes = engine.attributes();
  EXPECT_EQ(attributes.id, 2U);
  EXPECT_TRUE(attributes.is_serial);
  EXPECT_TRUE(attributes.has_make_key);
  EXPECT_EQ(attributes.buckets, 1024U);
  EXPECT_EQ(attributes.records, 5000U);
}

}  // namespace
}  // namespace weft
