// Registered memory for messages that are copied before they are sent.
#pragma once

#include "network/ibv/verbs/rdma_device.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::network::ibv {

/// Rooms of one size. One thread at a time.
class Rooms {
 public:
  /// Throws weft::Error.
  Rooms(Device& device, std::size_t count, std::size_t bytes)
      : bytes_(bytes),
        memory_(std::make_unique<std::byte[]>(count * stride())),
        registration_(device.register_memory({memory_.get(), count * stride()}, kLocalAccess)) {
    free_.reserve(count);
    for (std::size_t next = count; next-- > 0;) free_.push_back(memory_.get() + next * stride());
  }

  /// Returns nullptr when none is free.
  [[nodiscard]] std::byte* take() noexcept {
    if (free_.empty()) return nullptr;
    std::byte* const room = free_.back();
    free_.pop_back();
    return room;
  }
  void give_back(std::byte* room) noexcept { free_.push_back(room); }
  [[nodiscard]] std::size_t free_count() const noexcept { return free_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint32_t key() const noexcept { return registration_->lkey; }

 private:
  [[nodiscard]] std::size_t stride() const noexcept { return (bytes_ + 63) / 64 * 64; }

  const std::size_t bytes_;
  const std::unique_ptr<std::byte[]> memory_;
  const Registration registration_;
  std::vector<std::byte*> free_;
};

}  // namespace weft::network::ibv
