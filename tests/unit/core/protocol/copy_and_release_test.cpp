#include "core/memory/copy_and_release.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace weft::core {
namespace {

class Lender final : public detail::PayloadLender {
 public:
  explicit Lender(std::size_t owned_from) : PayloadLender(owned_from) {}
  PayloadOwner* keep(const std::byte*&, std::size_t, std::uint64_t&) noexcept override { return nullptr; }
};

/// An arrival of `size` bytes that a lender lends, and where they are to go.
struct Arrival {
  Arrival(std::size_t size, detail::PayloadLender* lender) : payload(size, std::byte{7}), target(size) {
    detail::MessageAccess::set_view(message, Operation::active_message, 1, 0, payload.data(), size, lender,
                                    0);
  }
  [[nodiscard]] bool is_moved() const {
    return std::ranges::all_of(target, [](std::byte each) { return each == std::byte{7}; });
  }
  [[nodiscard]] bool is_overwritten() const { return std::ranges::count(payload, std::byte{0}) != 0; }

  std::vector<std::byte> payload;
  std::vector<std::byte> target;
  Message message;
};

TEST(CopyAndRelease, LeavesAPayloadAloneWhoseMemoryNobodyWantsBack) {
  Lender lender(detail::PayloadLender::kNever);
  for (detail::PayloadLender* each :
       {static_cast<detail::PayloadLender*>(nullptr), static_cast<detail::PayloadLender*>(&lender)})
    for (std::size_t size : {1, 48, 49, 1024, 40000}) {
      Arrival arrival(size, each);
      copy_and_release(arrival.target.data(), arrival.message, arrival.message.bytes());
      EXPECT_TRUE(arrival.is_moved()) << size;
      EXPECT_FALSE(arrival.is_overwritten()) << size;
      EXPECT_EQ(arrival.message.size(), size);
    }
}

TEST(CopyAndRelease, OverwritesAPayloadFromTheLendersSizeOnAndSaysSo) {
  Lender lender(1024);
  for (std::size_t size : {8, 1023, 1024, 32768}) {
    Arrival arrival(size, &lender);
    copy_and_release(arrival.target.data(), arrival.message, arrival.message.bytes());
    EXPECT_TRUE(arrival.is_moved()) << size;
    EXPECT_EQ(arrival.is_overwritten(), size >= 1024) << size;
    EXPECT_EQ(arrival.message.size(), size >= 1024 ? 0 : size);
  }
}

TEST(CopyAndRelease, DecidesByThePartThatIsMoved) {
  Lender lender(1024);
  Arrival arrival(2000, &lender);
  copy_and_release(arrival.target.data(), arrival.message, arrival.message.bytes().first(500));
  EXPECT_FALSE(arrival.is_overwritten());
  EXPECT_EQ(arrival.message.size(), 2000U);
}

}  // namespace
}  // namespace weft::core
