#include "core/memory/regions.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace weft::core {
namespace {

using network::RegionName;

/// A network that only notes what happens to its regions.
class Notes final : public network::Network {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "notes"; }
  [[nodiscard]] PacketMemory packet_memory() const noexcept override { return {}; }
  std::size_t reclaim_packets(std::span<std::uint32_t>) noexcept override { return 0; }
  std::byte* allocate_memory(RegionName, std::size_t size) override {
    if (refuses_memory) throw Error("no memory");
    return new std::byte[size + 1]();
  }
  network::RegionKeys register_memory(RegionName name, std::span<std::byte>, bool) override {
    if (refuses_registration) throw Error("no registration");
    events.append("+").append(std::to_string(name.index));
    return {17, 18};
  }
  void release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept override {
    events.append("-").append(std::to_string(name.index));
    if (allocated) delete[] memory.data();
  }
  std::optional<detail::DirectWindow> map_memory(int, const network::RemoteMemory&) override {
    return std::nullopt;
  }
  std::unique_ptr<network::Port> open_port(std::uint32_t, detail::DevicePath&) override { return nullptr; }
  void publish_handle(std::uint16_t, std::uint16_t, network::HandleState) noexcept override {}

  bool refuses_memory = false;
  bool refuses_registration = false;
  std::string events;
};

class RegionTable : public testing::Test {
 protected:
  Notes network_;
  Regions regions_{network_, 5, 3, 1, [this] { network_.events += "q"; }};
  std::array<std::byte, 100> memory_{};
};

TEST_F(RegionTable, finds_bytes_that_are_all_inside) {
  const RemoteRegion key = regions_.add(memory_);
  EXPECT_EQ(key.rank, 5);
  EXPECT_EQ(key.bytes, 100U);
  EXPECT_EQ(key.address, 17U);
  EXPECT_EQ(key.key, 18U);
  const RegionName name{key.index, key.generation};
  EXPECT_EQ(regions_.find(name, 0, 100), memory_.data());
  EXPECT_EQ(regions_.find(name, 99, 1), memory_.data() + 99);
  EXPECT_EQ(regions_.find(name, 100, 0), memory_.data() + 100);
  const std::uint64_t most = ~std::uint64_t{0};
  EXPECT_EQ(regions_.find(name, 101, 0), nullptr);
  EXPECT_EQ(regions_.find(name, 0, 101), nullptr);
  EXPECT_EQ(regions_.find(name, 1, most), nullptr);
  EXPECT_EQ(regions_.find(name, most, 2), nullptr);
}

TEST_F(RegionTable, finds_nothing_under_names_that_it_has_not_given) {
  const RemoteRegion key = regions_.add(memory_);
  for (const RegionName name : {RegionName{key.index, 0}, RegionName{key.index, key.generation + 1},
                                RegionName{key.index + 1, key.generation}, RegionName{key.index + 1, 0},
                                RegionName{4, 1}, RegionName{~0U, ~0U}})
    EXPECT_EQ(regions_.find(name, 0, 0), nullptr) << name.index << " " << name.generation;
}

TEST_F(RegionTable, waits_for_deliveries_before_it_gives_memory_back) {
  std::span<std::byte> memory;
  const RemoteRegion key = regions_.allocate(10, memory);
  EXPECT_EQ(memory.size(), 10U);
  regions_.remove(key.index);
  EXPECT_EQ(network_.events, "+0q-0");
  EXPECT_EQ(regions_.find({key.index, key.generation}, 0, 0), nullptr);
  const RemoteRegion next = regions_.add(memory_);
  EXPECT_EQ(next.index, key.index);
  EXPECT_EQ(next.generation, key.generation + 1);
}

TEST_F(RegionTable, is_bounded_and_gives_indices_back_when_something_fails) {
  network_.refuses_memory = true;
  std::span<std::byte> memory;
  for (int count = 0; count < 10; ++count) EXPECT_THROW(regions_.allocate(10, memory), Error);
  network_.refuses_memory = false;
  network_.refuses_registration = true;
  for (int count = 0; count < 10; ++count) EXPECT_THROW(regions_.allocate(10, memory), Error);
  for (int count = 0; count < 10; ++count) EXPECT_THROW(regions_.add(memory_), Error);
  network_.refuses_registration = false;
  for (int count = 0; count < 3; ++count) regions_.add(memory_);
  // Those of libraries are counted apart.
  const RemoteRegion of_library = regions_.allocate(10, memory, RegionOwner::library);
  EXPECT_THROW(regions_.allocate(10, memory, RegionOwner::library), Error);
  regions_.remove(of_library.index);
  const RemoteRegion next = regions_.allocate(10, memory, RegionOwner::library);
  EXPECT_EQ(next.index, of_library.index);
  regions_.remove(next.index);
  try {
    regions_.add(memory_);
    FAIL() << "a fourth region";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("regions_max"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace weft::core
