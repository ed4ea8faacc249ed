// Messages with parts: what is sent, and a receiver that fetches and checks it.
#pragma once

#include "support/ranks.hpp"

#include <atomic>
#include <memory>
#include <string>

namespace weft::test {

/// Attributes that choose how parts travel, or make every store small.
struct PartsSetting {
  const char* name;
  std::vector<AttributeSetting> attributes;
};

[[nodiscard]] inline const std::vector<PartsSetting>& parts_settings() {
  static const std::vector<AttributeSetting> few = {
      {"lane_slots", "64"},  {"lane_slots_max", "64"}, {"packets", "16"},
      {"packet_size", "1K"}, {"requests", "16"},       {"backlog", "4"},
      {"backlog_peer", "2"}, {"held_packets", "1"},    {"packet_magazine", "1"}};
  static const std::vector<PartsSetting> settings = [] {
    std::vector<AttributeSetting> few_by_read = few;
    few_by_read.push_back({"rendezvous", "read"});
    return std::vector<PartsSetting>{{"defaults", {}},
                                     {"by_read", {{"rendezvous", "read"}}},
                                     {"few_stores", few},
                                     {"few_stores_by_read", few_by_read}};
  }();
  return settings;
}

/// A head and parts that can be recognised by `seed`.
struct Parcel {
  Parcel(std::uint64_t seed, std::size_t head_size, const std::vector<std::size_t>& sizes)
      : head(payload(head_size, seed)) {
    for (std::size_t index = 0; index < sizes.size(); ++index)
      memory.push_back(payload(sizes[index], seed + 1 + index));
    for (const auto& part : memory) parts.emplace_back(part);
  }
  std::vector<std::byte> head;
  std::vector<std::vector<std::byte>> memory;
  std::vector<Bytes> parts;
};

/// Buffers for the parts of a message, each with a guard behind it.
class PartBuffers {
 public:
  static constexpr std::size_t kGuard = 16;

  /// `rooms`: the sizes of the buffers.
  explicit PartBuffers(std::span<const std::uint64_t> rooms) {
    for (const std::uint64_t room : rooms) memory_.emplace_back(room + kGuard, std::byte{0xa5});
    for (auto& buffer : memory_) buffers_.emplace_back(buffer.data(), buffer.size() - kGuard);
  }
  [[nodiscard]] std::span<const MutableBytes> list() const noexcept { return buffers_; }
  /// Whether the parts of a Parcel with this seed are there, as far as they fit, and nothing else is
  /// changed.
  [[nodiscard]] bool hold(std::uint64_t seed, std::span<const std::uint64_t> sizes) const {
    if (sizes.size() != buffers_.size()) return false;
    for (std::size_t index = 0; index < sizes.size(); ++index) {
      const std::size_t filled = std::min<std::size_t>(sizes[index], buffers_[index].size());
      if (!matches({buffers_[index].data(), filled}, seed + 1 + index)) return false;
      for (std::size_t place = filled; place < memory_[index].size(); ++place)
        if (memory_[index][place] != std::byte{0xa5}) return false;
    }
    return true;
  }

 private:
  std::vector<std::vector<std::byte>> memory_;
  std::vector<MutableBytes> buffers_;
};

}  // namespace weft::test
