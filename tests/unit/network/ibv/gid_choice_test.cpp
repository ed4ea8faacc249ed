#include "network/ibv/verbs/gid_choice.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>

#include <string>
#include <vector>

namespace weft::network::ibv {
namespace {

ibv_gid_entry entry(const char* address, ibv_gid_type type, std::uint32_t index) {
  ibv_gid_entry made{};
  made.gid_index = index;
  made.gid_type = type;
  EXPECT_EQ(::inet_pton(AF_INET6, address, made.gid.raw), 1) << address;
  return made;
}

const ibv_gid_entry kLinkLocalV1 = entry("fe80::1", IBV_GID_TYPE_ROCE_V1, 0);
const ibv_gid_entry kLinkLocal = entry("fe80::1", IBV_GID_TYPE_ROCE_V2, 1);
const ibv_gid_entry kMappedV1 = entry("::ffff:10.0.2.15", IBV_GID_TYPE_ROCE_V1, 2);
const ibv_gid_entry kMapped = entry("::ffff:10.0.2.15", IBV_GID_TYPE_ROCE_V2, 3);
const ibv_gid_entry kOtherMapped = entry("::ffff:10.0.2.16", IBV_GID_TYPE_ROCE_V2, 4);
const ibv_gid_entry kGlobal = entry("2001:db8::1", IBV_GID_TYPE_ROCE_V2, 5);

std::uint32_t chosen_of(const std::vector<ibv_gid_entry>& entries) {
  return entries[preferred_gid(entries).value()].gid_index;
}

TEST(GidChoice, PrefersVersionTwoWithAnIpv4Address) {
  EXPECT_EQ(chosen_of({kLinkLocalV1, kLinkLocal, kMappedV1, kGlobal, kMapped}), 3U);
}

TEST(GidChoice, TakesTheFirstOfEquals) { EXPECT_EQ(chosen_of({kMapped, kOtherMapped}), 3U); }

TEST(GidChoice, PrefersAnAddressThatIsValidBeyondTheLink) {
  EXPECT_EQ(chosen_of({kLinkLocalV1, kLinkLocal, kGlobal}), 5U);
  EXPECT_EQ(chosen_of({kLinkLocalV1, kLinkLocal}), 1U);
}

TEST(GidChoice, TakesWhatThereIs) {
  EXPECT_EQ(chosen_of({kLinkLocalV1, kMappedV1}), 0U);
  EXPECT_FALSE(preferred_gid({}).has_value());
}

TEST(GidChoice, IsToldInWords) {
  EXPECT_EQ(to_text(kMapped), "10.0.2.15 (RoCE v2)");
  EXPECT_EQ(to_text(kLinkLocalV1), "fe80::1 (RoCE v1)");
  EXPECT_EQ(to_text(entry("fe80::2", IBV_GID_TYPE_IB, 0)), "fe80::2 (InfiniBand)");
}

}  // namespace
}  // namespace weft::network::ibv
