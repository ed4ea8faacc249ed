// Memory that peers may access: keys of the past name nothing, and a key ends when nobody uses its memory.
#include "network/tcp/connection/offers.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace weft::network::tcp {
namespace {

using Memory = std::array<std::byte, 8>;

bool is_open(NamedMemory& named, std::uint64_t key) {
  return named.visit(key, [](std::span<std::byte>) {});
}

TEST(TcpOffers, have_keys_that_are_not_used_again) {
  Offers offers;
  Memory memory{};
  std::set<std::uint64_t> keys;
  for (int round = 0; round < 100; ++round) {
    const std::uint64_t key = offers.add(memory);
    EXPECT_TRUE(keys.insert(key).second);
    EXPECT_TRUE(is_open(offers.memory(), key));
    offers.end(key);
    offers.end(key);  // has no effect on the next one
    EXPECT_FALSE(is_open(offers.memory(), key));
  }
}

TEST(TcpOffers, beyond_the_most_are_refused_until_one_ends) {
  Offers offers;
  Memory memory{};
  std::vector<std::uint64_t> keys(Offers::kMost);
  for (std::uint64_t& key : keys) ASSERT_NE(key = offers.add(memory), 0U);
  EXPECT_EQ(offers.add(memory), 0U);
  offers.end(keys[7]);
  EXPECT_NE(offers.add(memory), 0U);
}

TEST(TcpNamedMemory, is_found_by_its_whole_key_alone) {
  NamedMemory named(4);
  Memory memory{};
  constexpr std::uint64_t kGeneration = std::uint64_t{1} << 32;
  named.open(9 * kGeneration + 2, memory);
  EXPECT_TRUE(named.visit(9 * kGeneration + 2,
                          [&](std::span<std::byte> found) { EXPECT_EQ(found.data(), memory.data()); }));
  for (const std::uint64_t key : {std::uint64_t{2}, 8 * kGeneration + 2, 9 * kGeneration + 1, 9 * kGeneration,
                                  9 * kGeneration + 5, 9 * kGeneration + 0xffffffff}) {
    EXPECT_FALSE(is_open(named, key)) << key;
    EXPECT_FALSE(named.close(key)) << key;
  }
}

TEST(TcpNamedMemory, is_closed_when_the_last_visit_is_over) {
  NamedMemory named(4);
  Memory memory{};
  constexpr std::uint64_t kKey = (std::uint64_t{1} << 32) + 1;
  for (int round = 0; round < 200; ++round) {
    named.open(kKey, memory);
    std::atomic<bool> is_closed{false};
    std::atomic<bool> is_inside{false};
    bool was_closed_inside = false;
    std::thread visitor([&] {
      named.visit(kKey, [&](std::span<std::byte> found) {
        is_inside = true;
        for (int write = 0; write < 1000; ++write) found[0] = static_cast<std::byte>(write);
        was_closed_inside = is_closed;
      });
      is_inside = true;
    });
    while (!is_inside) std::this_thread::yield();
    EXPECT_TRUE(named.close(kKey));
    is_closed = true;
    memory[0] = std::byte{1};  // the owner's again: no race
    visitor.join();
    EXPECT_FALSE(was_closed_inside);
    EXPECT_EQ(memory[0], std::byte{1});
    EXPECT_FALSE(is_open(named, kKey));
  }
}

}  // namespace
}  // namespace weft::network::tcp
