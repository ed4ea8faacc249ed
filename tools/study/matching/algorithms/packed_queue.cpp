#include "study/matching/algorithms/packed_queue.hpp"

namespace weft::tools::study {

namespace {

constexpr MatchingAlgorithm::Item kHole = MatchingAlgorithm::kNone;

// A digest is this bit, 7 bits of the source and 8 bits of the tag. The bit tells items from holes, whose
// digest is zero.
constexpr std::uint16_t kIsItem = 0x8000;
constexpr std::uint16_t kSourceBits = 0x7F00;
constexpr MatchDigest kNothing{.value = 0, .mask = 0xFFFF};

std::uint16_t digest_of_source(int source) noexcept {
  const auto bits = static_cast<std::uint32_t>(source);
  return static_cast<std::uint16_t>(((bits ^ bits >> 7 ^ bits >> 14) << 8) & kSourceBits);
}

// The exclusive or of the eight bytes: a bit of the digest depends on eight bits of the tag.
std::uint16_t digest_of_tag(std::uint64_t tag) noexcept {
  tag ^= tag >> 32;
  tag ^= tag >> 16;
  tag ^= tag >> 8;
  return tag & 0xFF;
}

// Which bits of the digest are known where only some bits of the tag count: those that depend on no other.
std::uint16_t digest_of_mask(std::uint64_t mask) noexcept {
  mask &= mask >> 32;
  mask &= mask >> 16;
  mask &= mask >> 8;
  return mask & 0xFF;
}

std::uint16_t join(std::uint16_t source, std::uint16_t tag) noexcept {
  return static_cast<std::uint16_t>(kIsItem | source | tag);
}

}  // namespace

MatchDigest digest_of(const MatchEnvelope& envelope) noexcept {
  return {.value = join(digest_of_source(envelope.source), digest_of_tag(envelope.tag)), .mask = 0xFFFF};
}

MatchDigest digest_of(const MatchPattern& pattern) noexcept {
  const std::uint64_t tag_mask = pattern.accepts_any_tag() ? 0 : pattern.tag_mask;
  return {.value = join(digest_of_source(pattern.source), digest_of_tag(pattern.tag)),
          .mask = join(pattern.accepts_any_source() ? 0 : kSourceBits, digest_of_mask(tag_mask))};
}

void PackedQueue::reserve(Item items) {
  // With room for twice as many, the queue is compacted at most once in `items` appends for want of room.
  blocks_.resize(2 * static_cast<std::size_t>(items) / kLanes + 1);
  items_.resize(blocks_.size() * kLanes, kHole);
  positions_.resize(items);
}

void PackedQueue::append(Item item, MatchDigest digest) noexcept {
  if (end_ == items_.size()) compact();
  set(end_++, item, digest);
  ++size_;
}

void PackedQueue::remove(Item item) noexcept {
  set(positions_[item], kHole, kNothing);
  --size_;
  while (first_ < end_ && items_[first_] == kHole) ++first_;
  while (first_ < end_ && items_[end_ - 1] == kHole) --end_;
  if (size_ == 0) first_ = end_ = 0;
  if (end_ - first_ > 2 * size_ + kLanes) compact();
}

void PackedQueue::set(std::size_t position, Item item, MatchDigest digest) noexcept {
  Block& block = blocks_[position / kLanes];
  block.values[position % kLanes] = digest.value;
  block.masks[position % kLanes] = digest.mask;
  items_[position] = item;
  if (item != kHole) positions_[item] = static_cast<std::uint32_t>(position);
}

void PackedQueue::compact() noexcept {
  std::size_t to = 0;
  for (std::size_t from = first_; from < end_; ++from) {
    const Item item = items_[from];
    if (item == kHole) continue;
    const Block& block = blocks_[from / kLanes];
    const MatchDigest digest{.value = block.values[from % kLanes], .mask = block.masks[from % kLanes]};
    set(from, kHole, kNothing);
    set(to++, item, digest);
  }
  first_ = 0;
  end_ = to;
}

}  // namespace weft::tools::study
