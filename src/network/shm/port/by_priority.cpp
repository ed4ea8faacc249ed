// Polling when urgent or bulk lanes lead into the device.
//
// Urgent lanes come first, and are polled again after every lane that had messages: an urgent message waits
// for no more than what one call takes from one lane, or for the share of bulk.
#include "network/shm/port/polling.hpp"

#include <algorithm>
#include <bit>

namespace weft::network::shm {

std::size_t Polling::poll_in_order(Sink& sink, std::size_t limit) noexcept {
  const std::uint32_t words = lanes_.words();
  int hot = 0;
  for (std::uint32_t word = 0; word < words && word < ReceiveLanes::kWords; ++word) {
    if (lanes_.has_rung(word)) doorbell_.answer();
    hot += std::popcount(lanes_.hot(word));
  }
  std::size_t count = poll_urgent(sink, limit);
  for (std::uint32_t word = 0; word < words && word < ReceiveLanes::kWords; ++word) {
    std::uint64_t bits = lanes_.hot(word) & ~(lanes_.urgent(word) | lanes_.bulk(word));
    for (; bits != 0; bits &= bits - 1) {
      const std::size_t delivered = poll_lane(ReceiveLanes::index_of(word, bits), sink, limit);
      if (delivered == 0) continue;
      count += delivered + poll_urgent(sink, limit);
    }
  }
  count += poll_bulk(sink);
  if (hot > kPolledAllUpTo) cool_now_and_then();
  return count;
}

std::size_t Polling::poll_urgent(Sink& sink, std::size_t limit) noexcept {
  const std::uint32_t words = lanes_.words();
  std::size_t count = 0;
  for (std::uint32_t word = 0; word < words && word < ReceiveLanes::kWords; ++word) {
    std::uint64_t bits = lanes_.hot(word) & lanes_.urgent(word);
    for (; bits != 0; bits &= bits - 1) count += poll_lane(ReceiveLanes::index_of(word, bits), sink, limit);
  }
  return count;
}

/// The bulk lanes take turns: a call begins behind the lane at which the last call used up its share.
std::size_t Polling::poll_bulk(Sink& sink) noexcept {
  const std::uint32_t words = std::min<std::uint32_t>(lanes_.words(), ReceiveLanes::kWords);
  const std::uint32_t turn = bulk_turn_.load(std::memory_order_relaxed);
  const std::uint32_t first = turn / 64 < words ? turn / 64 : 0;
  std::size_t count = 0;
  // The first word comes twice: first the lanes from the turn on, at the end the lanes below it.
  for (std::uint32_t step = 0; step <= words; ++step) {
    const std::uint32_t word = (first + step) % words;
    std::uint64_t bits = lanes_.hot(word) & lanes_.bulk(word);
    const std::uint64_t from_turn = first == turn / 64 ? ~std::uint64_t{0} << (turn % 64) : ~std::uint64_t{0};
    if (step == 0) bits &= from_turn;
    if (step == words) bits &= ~from_turn;
    for (; bits != 0; bits &= bits - 1) {
      const std::uint32_t index = ReceiveLanes::index_of(word, bits);
      count += poll_lane(index, sink, kBulkPerPoll - count);
      if (count < kBulkPerPoll) continue;
      bulk_turn_.store(index + 1, std::memory_order_relaxed);
      return count;
    }
  }
  return count;
}

}  // namespace weft::network::shm
