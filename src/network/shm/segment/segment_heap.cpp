#include "network/shm/segment/segment_heap.hpp"

#include <iterator>
#include <utility>

namespace weft::network::shm {

std::uint64_t SegmentHeap::take(std::uint64_t bytes) noexcept {
  for (auto at = free_.begin(); at != free_.end(); ++at) {
    if (at->second < bytes) continue;
    const std::uint64_t offset = at->first;
    auto node = free_.extract(at);
    if (node.mapped() != bytes) {
      node.key() += bytes;
      node.mapped() -= bytes;
      free_.insert(std::move(node));
    }
    used_ += bytes;
    return offset;
  }
  return 0;
}

void SegmentHeap::release(std::uint64_t offset, std::uint64_t bytes) {
  auto at = free_.emplace(offset, bytes).first;
  used_ -= bytes;
  if (const auto behind = std::next(at); behind != free_.end() && offset + bytes == behind->first) {
    at->second += behind->second;
    free_.erase(behind);
  }
  if (at == free_.begin()) return;
  if (const auto before = std::prev(at); before->first + before->second == offset) {
    before->second += at->second;
    free_.erase(at);
  }
}

}  // namespace weft::network::shm
