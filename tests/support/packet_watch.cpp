// Fails each test in which a runtime ended with packets missing. Part of every test program.
#include "core/packet/packet_pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

namespace weft::test {
namespace {

class PacketWatch final : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { before_ = core::PacketPool::missing_so_far(); }
  void OnTestEnd(const testing::TestInfo& info) override {
    const std::uint64_t missing = core::PacketPool::missing_so_far() - before_;
    // A test that loses packets on purpose says so by its name.
    const bool loses = std::string_view(info.name()).find("missing_packets") != std::string_view::npos;
    EXPECT_TRUE(missing == 0 || loses) << missing << " packets were missing when runtimes ended";
  }
  std::uint64_t before_ = 0;
};

// Tests of gtest_main have no main() of their own. The listeners own it.
[[maybe_unused]] const bool is_listening = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new PacketWatch);
  return true;
}();

}  // namespace
}  // namespace weft::test
