// Polling when urgent or bulk lanes lead into the device.
//
// Urgent lanes come first, and are polled again after every lane that had messages: an urgent message waits
// for no more than what one call takes from one lane, or for the share of bulk.
#include "network/shm/port/port.hpp"

#include <algorithm>
#include <bit>

namespace weft::network::shm {

std::size_t ShmPort::poll_in_order(Sink& sink, std::size_t limit, bool exclusive) noexcept {
  const std::uint32_t words = (area_->lanes_high.load(std::memory_order_relaxed) + 63) / 64;
  int hot = 0;
  for (std::uint32_t word = 0; word < words && word < kWords; ++word) {
    if (area_->doorbells[word].load(std::memory_order_relaxed) != 0) answer_doorbells(exclusive);
    hot += std::popcount(hot_[word].load(std::memory_order_relaxed));
  }
  std::size_t count = poll_urgent(sink, limit, exclusive);
  for (std::uint32_t word = 0; word < words && word < kWords; ++word) {
    std::uint64_t bits =
        hot_[word].load(std::memory_order_relaxed) &
        ~(urgent_[word].load(std::memory_order_relaxed) | bulk_[word].load(std::memory_order_relaxed));
    for (; bits != 0; bits &= bits - 1) {
      const std::size_t delivered = poll_lane(index_of(word, bits), sink, limit, exclusive);
      if (delivered == 0) continue;
      count += delivered + poll_urgent(sink, limit, exclusive);
    }
  }
  count += poll_bulk(sink, exclusive);
  if (hot > kPolledAllUpTo) cool_now_and_then(exclusive);
  return count;
}

std::size_t ShmPort::poll_urgent(Sink& sink, std::size_t limit, bool exclusive) noexcept {
  const std::uint32_t words = (area_->lanes_high.load(std::memory_order_relaxed) + 63) / 64;
  std::size_t count = 0;
  for (std::uint32_t word = 0; word < words && word < kWords; ++word) {
    std::uint64_t bits =
        hot_[word].load(std::memory_order_relaxed) & urgent_[word].load(std::memory_order_relaxed);
    for (; bits != 0; bits &= bits - 1) count += poll_lane(index_of(word, bits), sink, limit, exclusive);
  }
  return count;
}

/// The bulk lanes take turns: a call begins behind the lane at which the last call used up its share.
std::size_t ShmPort::poll_bulk(Sink& sink, bool exclusive) noexcept {
  const std::uint32_t words =
      std::min<std::uint32_t>((area_->lanes_high.load(std::memory_order_relaxed) + 63) / 64, kWords);
  const std::uint32_t turn = bulk_turn_.load(std::memory_order_relaxed);
  const std::uint32_t first = turn / 64 < words ? turn / 64 : 0;
  std::size_t count = 0;
  // The first word comes twice: first the lanes from the turn on, at the end the lanes below it.
  for (std::uint32_t step = 0; step <= words; ++step) {
    const std::uint32_t word = (first + step) % words;
    std::uint64_t bits =
        hot_[word].load(std::memory_order_relaxed) & bulk_[word].load(std::memory_order_relaxed);
    const std::uint64_t from_turn = first == turn / 64 ? ~std::uint64_t{0} << (turn % 64) : ~std::uint64_t{0};
    if (step == 0) bits &= from_turn;
    if (step == words) bits &= ~from_turn;
    for (; bits != 0; bits &= bits - 1) {
      const std::uint32_t index = index_of(word, bits);
      count += poll_lane(index, sink, kBulkPerPoll - count, exclusive);
      if (count < kBulkPerPoll) continue;
      bulk_turn_.store(index + 1, std::memory_order_relaxed);
      return count;
    }
  }
  return count;
}

}  // namespace weft::network::shm
