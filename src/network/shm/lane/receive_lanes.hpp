// The lanes that lead to a device, and which of them are polled.
#pragma once

#include "network/network.hpp"
#include "network/shm/lane/receive_lane.hpp"
#include "network/shm/lane/send_state.hpp"
#include "network/shm/segment/layout.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::network::shm {

/// The lanes by the indices of their announcements, and sets of these indices: the lanes that are hot, so
/// that polls look at them, and those that polls treat in another way. Polls read everything without a lock;
/// what says so is called by one thread at a time.
class ReceiveLanes {
 public:
  static constexpr std::size_t kWords = kMaxLanes / 64;
  static constexpr std::uint32_t kColumns = detail::DevicePath::kNoColumn;
  /// The index of the lane of the lowest bit in a word of a set.
  [[nodiscard]] static constexpr std::uint32_t index_of(std::uint32_t word, std::uint64_t bits) noexcept {
    return word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
  }

  /// Of the device with this index. `shared` must outlive the object.
  ReceiveLanes(const Shared& shared, std::uint32_t device) noexcept;

  [[nodiscard]] DeviceArea& area() const noexcept { return *area_; }
  /// The number of announcements that the device has.
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  /// The number of announcements that may be in use, of those that the device has. Peers write the number.
  [[nodiscard]] std::uint32_t announced() const noexcept;
  /// The words of a set, and of the doorbells, that announced lanes may be in; at most kWords matter.
  [[nodiscard]] std::uint32_t words() const noexcept {
    return (area_->lanes_high.load(std::memory_order_relaxed) + 63) / 64;
  }
  [[nodiscard]] bool has_rung(std::uint32_t word) const noexcept {
    return area_->doorbells[word].load(std::memory_order_relaxed) != 0;
  }

  /// Returns the lane that has or had this index, or nullptr when there was none.
  [[nodiscard]] ReceiveLane* find(std::uint32_t index) const noexcept {
    return lanes_[index].load(std::memory_order_acquire);  // pairs with the release in publish()
  }
  /// The same for an index from one of the sets: there is a lane.
  [[nodiscard]] ReceiveLane& at(std::uint32_t index) const noexcept { return *find(index); }
  /// Makes a lane that nobody finds before publish(). One thread at a time. Throws std::bad_alloc.
  [[nodiscard]] ReceiveLane& make(std::uint32_t index);
  void publish(ReceiveLane& lane) noexcept { lanes_[lane.index].store(&lane, std::memory_order_release); }
  /// Notes the traffic class of a lane, and the stripe of the threads that send by it, before the lane is
  /// hot. One thread at a time. A poll that still has the class of a former lane at this index polls this
  /// lane in the wrong order, once.
  void classify(std::uint32_t index, TrafficClass traffic, std::uint32_t stripe) noexcept;
  /// Makes the threads that send by lanes of this stripe the lane's owners, which poll it first. Polls in
  /// progress may use the former owners.
  void set_owners(std::uint32_t index, std::uint32_t stripe) noexcept;
  /// Ends a lane. With the lane entered.
  void detach(ReceiveLane& lane, Announcement::State state) noexcept;
  /// Returns once no thread has a lane entered that it had entered before the call.
  void quiesce() const noexcept;
  /// Returns the credit of all lanes and arms their doorbells, for a later device with the same index.
  void close() noexcept;

  // The sets, a word at a time: hints.
  [[nodiscard]] std::uint64_t hot(std::uint32_t word) const noexcept { return bits_of(hot_, word); }
  void heat(std::uint32_t index) noexcept { hot_[index / 64].fetch_or(bit_of(index), kRelaxed); }
  void cool(std::uint32_t index) noexcept { hot_[index / 64].fetch_and(~bit_of(index), kRelaxed); }
  /// Lanes for the messages and payloads of protocols.
  [[nodiscard]] std::uint64_t protocol(std::uint32_t word) const noexcept { return bits_of(protocol_, word); }
  /// Lanes of Urgency::first and of Urgency::last, hot or not.
  [[nodiscard]] std::uint64_t urgent(std::uint32_t word) const noexcept { return bits_of(urgent_, word); }
  [[nodiscard]] std::uint64_t bulk(std::uint32_t word) const noexcept { return bits_of(bulk_, word); }
  /// Lanes that the threads of a column poll first.
  [[nodiscard]] std::uint64_t own(std::uint32_t column, std::uint32_t word) const noexcept {
    return bits_of(own_[column], word);
  }
  /// Returns true when any lane is urgent or bulk.
  [[nodiscard]] bool has_classes() const noexcept { return has_classes_.load(kRelaxed); }
  /// Returns true when lanes of several stripes lead here.
  [[nodiscard]] bool has_stripes() const noexcept { return has_stripes_.load(kRelaxed); }
  /// Returns true when one thread at a time enters the lanes: see Port::set_exclusive().
  [[nodiscard]] bool are_exclusive() const noexcept { return are_exclusive_.load(kRelaxed); }
  void set_exclusive(bool exclusive) noexcept { are_exclusive_.store(exclusive, kRelaxed); }

 private:
  using Set = std::array<std::atomic<std::uint64_t>, kWords>;
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  [[nodiscard]] static constexpr std::uint64_t bit_of(std::uint32_t index) noexcept {
    return std::uint64_t{1} << (index % 64);
  }
  [[nodiscard]] static std::uint64_t bits_of(const Set& set, std::uint32_t word) noexcept {
    return set[word].load(kRelaxed);
  }
  static void put(Set& set, std::uint32_t index, bool is_in) noexcept;

  const Shared& shared_;
  DeviceArea* const area_;  // in this rank's segment
  const std::uint32_t capacity_;
  alignas(64) Set hot_{};
  Set protocol_{};
  Set urgent_{};
  Set bulk_{};
  std::atomic<bool> has_classes_{false};
  std::atomic<bool> has_stripes_{false};
  std::atomic<bool> are_exclusive_{false};
  std::array<Set, kColumns> own_{};
  std::array<std::atomic<ReceiveLane*>, kMaxLanes> lanes_{};
  // One thread at a time:
  std::vector<std::unique_ptr<ReceiveLane>> owned_;
  std::uint32_t stripes_ = 0;  // bits of the stripes that lanes for data have had
};

}  // namespace weft::network::shm
