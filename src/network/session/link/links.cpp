#include "network/session/link/links.hpp"

#include "concurrent/process_barrier.hpp"
#include "concurrent/thread_number.hpp"

#include <utility>

namespace weft::network::session {

bool Links::has(int rank) const noexcept {
  for (const Link* link = first(); link != nullptr; link = link->next)
    if (link->rank == rank) return true;
  return false;
}

void Links::reserve(std::uint8_t device) {
  owned_.reserve(owned_.size() + 1);
  auto& row = owned_rows_[device];
  if (row != nullptr) return;
  row = std::make_unique<Row[]>(ranks_);
  rows_[device].store(row.get(), std::memory_order_release);
}

Link& Links::add(std::unique_ptr<Link> link) noexcept {
  link->next = links_.load(std::memory_order_relaxed);
  owned_.push_back(std::move(link));
  Link& added = *owned_.back();
  links_.store(&added, std::memory_order_release);
  owned_rows_[added.device][static_cast<std::size_t>(added.rank)].store(&added, std::memory_order_release);
  return added;
}

void Links::quiesce() const noexcept {
  concurrent::private_barrier();
  for (const Link* link = first(); link != nullptr; link = link->next)
    for (const Lane& lane : link->lanes) lane.lock.await_exit(concurrent::thread_number());
}

}  // namespace weft::network::session
