// Which queue pairs share a thread domain.
#include "unit/network/ibv/double_network.hpp"

#include <cstddef>
#include <vector>

namespace weft::network::ibv {
namespace {

using network::test::Stage;
using weft::test::payload;

/// Rank 0 has two queue pairs, the two others one each.
class IbvThreadDomains : public OverDouble {
 protected:
  using Counts = std::vector<std::size_t>;

  static Counts pairs_by_domain(const char* strategy) {
    Stage stage(3, settings({{"ibv_thread_domains", strategy}}));
    for (const int rank : {1, 2}) {
      EXPECT_EQ(stage.send(0, Stage::to(rank, 1), payload(8, 1)), SendResult::sent);
      EXPECT_TRUE(stage.until([&] { return stage.notes(rank).arrivals.size() == 1; }));
    }
    return Fabric::instance().pairs_by_thread_domain();
  }
};

TEST_F(IbvThreadDomains, AreSharedAsTheAttributeSays) {
  EXPECT_EQ(pairs_by_domain("all_qp"), (Counts{1, 1, 2}));
  EXPECT_EQ(pairs_by_domain("per_qp"), (Counts{1, 1, 1, 1}));
  EXPECT_EQ(pairs_by_domain("none"), Counts{});
}

TEST_F(IbvThreadDomains, AreLeftOutWhereTheDeviceHasNone) {
  for (const char* const strategy : {"all_qp", "per_qp"}) {
    Fabric::instance().set({.refuse_thread_domains = 100});
    EXPECT_EQ(pairs_by_domain(strategy), Counts{}) << strategy;
  }
}

}  // namespace
}  // namespace weft::network::ibv
