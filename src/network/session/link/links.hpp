// The links of a device.
#pragma once

#include "network/session/link/link.hpp"

#include <weft/detail/device_path.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::network::session {

/// Links by device of the peer and peer, and as a list. Any thread reads; links are added by one thread at a
/// time, and stay.
class Links {
 public:
  explicit Links(int ranks) noexcept : ranks_(static_cast<std::size_t>(ranks)) {}

  [[nodiscard]] Link* find(int rank, std::uint8_t device) const noexcept {
    // Both loads pair with the releases in reserve() and add().
    const Row* row = rows_[device].load(std::memory_order_acquire);
    return row == nullptr ? nullptr : row[rank].load(std::memory_order_acquire);
  }
  /// The head of the list, which goes on by Link::next.
  [[nodiscard]] Link* first() const noexcept { return links_.load(std::memory_order_acquire); }
  /// Returns true when there is a link to the rank.
  [[nodiscard]] bool has(int rank) const noexcept;
  /// Makes room for a link to such a device of a peer. Throws std::bad_alloc.
  void reserve(std::uint8_t device);
  /// After reserve().
  Link& add(std::unique_ptr<Link> link) noexcept;
  /// Returns once no thread has a lane entered that it had entered before the call.
  void quiesce() const noexcept;

 private:
  using Row = std::atomic<Link*>;

  const std::size_t ranks_;
  std::vector<std::unique_ptr<Link>> owned_;
  std::array<std::unique_ptr<Row[]>, detail::DevicePath::kMaxDevices> owned_rows_;
  alignas(64) std::array<std::atomic<Row*>, detail::DevicePath::kMaxDevices> rows_{};  // by the peer's device
  std::atomic<Link*> links_{nullptr};
};

}  // namespace weft::network::session
