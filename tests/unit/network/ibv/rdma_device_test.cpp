#include "network/ibv/verbs/rdma_device.hpp"

#include "network/ibv/ibv.hpp"
#include "unit/network/ibv/double_network.hpp"

#include <weft/error.hpp>

#include <cstdio>
#include <string>

namespace weft::network::ibv {
namespace {

class IbvDevice : public OverDouble {
 protected:
  static std::string refusal_of(const DeviceChoice& choice) {
    try {
      const Device device(choice);
      return "opened " + device.describe();
    } catch (const Error& error) {
      return error.what();
    }
  }
};

TEST_F(IbvDevice, TakesTheFirstActivePortAndItsIpv4Address) {
  const Device device({"auto", -1});
  EXPECT_EQ(device.describe(), "double0 port 1, 10.0.0.1 (RoCE v2)");
  EXPECT_EQ(device.gid().gid_index, 1U);
}

TEST_F(IbvDevice, TakesTheNamedPortAndGid) {
  const Device device({"double0:1", 0});
  EXPECT_EQ(device.describe(), "double0 port 1, fe80::1 (RoCE v2)");
}

TEST_F(IbvDevice, SaysWhatPeersCost) {
  const Availability there = availability(base::Attributes::load({}));
  ASSERT_TRUE(there.present);
  const std::size_t cost = there.remark.find("a rank takes ");
  ASSERT_NE(cost, std::string::npos) << there.remark;
  std::printf("%s\n", there.remark.c_str() + cost);
  int never_met = 0;
  int connected_kib = 0;
  ASSERT_EQ(
      std::sscanf(there.remark.c_str() + cost, "a rank takes %d bytes for one that it never meets, %d KiB",
                  &never_met, &connected_kib),
      2);
  EXPECT_LE(never_met, 16);
  EXPECT_LE(connected_kib, 300);
}

TEST_F(IbvDevice, NamesWhatIsNotThere) {
  EXPECT_EQ(refusal_of({"mlx5_0", -1}),
            "ibv: attribute ibv_device is \"mlx5_0\", and no device of that name has an active port of that "
            "number; there are double0");
  EXPECT_EQ(
      refusal_of({"double0:2", -1}),
      "ibv: attribute ibv_device is \"double0:2\", and no device of that name has an active port of that "
      "number; there are double0");
  EXPECT_EQ(
      refusal_of({"auto", 9}),
      "ibv: attribute ibv_gid_index is 9, and port 1 of double0 has no GID of this index (show_gids lists "
      "them)");
}

}  // namespace
}  // namespace weft::network::ibv
