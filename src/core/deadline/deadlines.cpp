#include "core/deadline/deadlines.hpp"

#include <weft/detail/message_access.hpp>

#include <algorithm>
#include <new>

namespace weft::core {

namespace {

constexpr std::int64_t kFirstPause = 1'000'000;  // nanoseconds
constexpr std::int64_t kLongestPause = 100'000'000;

}  // namespace

void Deadlines::Node::signal(Message& message) noexcept {
  Completion& to = this->to();
  if ((word_.load(std::memory_order_acquire) & kCancelled) != 0 &&
      detail::MessageAccess::outcome_of(detail::MessageAccess::kind(message)) == Outcome::timed_out)
    detail::MessageAccess::set_outcome(message, Outcome::cancelled);
  // Before the message is passed on: the thread that gets it may post again.
  owner_->ended(*this);
  to.signal(message);
}

Deadlines::Pool* Deadlines::pool() noexcept {
  // Pairs with the release below.
  Pool* pool = pool_.load(std::memory_order_acquire);
  if (pool != nullptr) [[likely]]
    return pool;
  const std::lock_guard lock(mutex_);
  if (owned_pool_ == nullptr) {
    try {
      owned_pool_ = std::make_unique<Pool>(limit_);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
    for (std::uint32_t index = 0; index < limit_; ++index) owned_pool_->nodes[index].owner_ = this;
    pool_.store(owned_pool_.get(), std::memory_order_release);
  }
  return owned_pool_.get();
}

Deadlines::Node* Deadlines::take(Completion& to, std::int64_t time) noexcept {
  Pool* pool = this->pool();
  const std::uint32_t index = pool != nullptr ? pool->free.take() : concurrent::IndexPool<>::kNone;
  if (index == concurrent::IndexPool<>::kNone) return nullptr;
  Node& node = pool->nodes[index];
  node.receive = {};
  node.to_.store(&to, std::memory_order_relaxed);
  detail::NamedCompletion::note(&to);
  node.time_ = time;
  node.pause_ = kFirstPause;
  count_.fetch_add(1, std::memory_order_relaxed);
  return &node;
}

void Deadlines::release(Node& node) noexcept {
  Pool& pool = *pool_.load(std::memory_order_relaxed);
  const std::uint64_t generation = node.word_.load(std::memory_order_relaxed) >> Node::kGenerationShift;
  // An object that dies from here on is none of this node's.
  node.to_.store(nullptr, std::memory_order_relaxed);
  // Handles of the operation name none from here on; those that were never filled have generation 0.
  const std::uint64_t next = std::max<std::uint64_t>(1, (generation + 1) & 0xffff'ffff);
  // Pairs with the acquires in pass_on().
  node.word_.store(next << Node::kGenerationShift, std::memory_order_release);
  count_.fetch_sub(1, std::memory_order_relaxed);
  pool.free.put(static_cast<std::uint32_t>(&node - pool.nodes.get()));
}

bool Deadlines::arm(Node& node) noexcept {
  if ((node.word_.fetch_or(kArmed | kQueued, std::memory_order_acq_rel) & kEnded) != 0) {
    release(node);
    return false;
  }
  changed_.put(node);
  return true;
}

SendHandle Deadlines::handle_of(const Node& node, std::uint32_t device) const noexcept {
  const Pool& pool = *pool_.load(std::memory_order_relaxed);
  return {static_cast<std::uint32_t>(&node - pool.nodes.get()),
          static_cast<std::uint32_t>(node.word_.load(std::memory_order_relaxed) >> Node::kGenerationShift),
          device};
}

bool Deadlines::cancel(const SendHandle& handle) noexcept {
  const Pool* const pool = pool_.load(std::memory_order_acquire);
  if (pool == nullptr || handle.index >= limit_) return false;
  Node& node = pool->nodes[handle.index];
  std::uint64_t before = node.word_.load(std::memory_order_acquire);
  do {
    if (before >> Node::kGenerationShift != handle.generation || (before & (kArmed | kEnded)) != kArmed)
      return false;
    if ((before & kCancelled) != 0) return true;
  } while (!node.word_.compare_exchange_weak(before, before | kCancelled | kQueued, std::memory_order_acq_rel,
                                             std::memory_order_acquire));
  if ((before & kQueued) == 0) changed_.put(node);
  return true;
}

/// From here on a node that is not armed belongs to the poster again, an armed one to update().
void Deadlines::ended(Node& node) noexcept {
  std::uint64_t before = node.word_.load(std::memory_order_relaxed);
  bool is_put = false;
  do {
    is_put = (before & (kArmed | kQueued)) == kArmed;
  } while (!node.word_.compare_exchange_weak(before, before | kEnded | (is_put ? kQueued : 0),
                                             std::memory_order_acq_rel, std::memory_order_relaxed));
  if (is_put) changed_.put(node);
}

Deadlines::Node* Deadlines::node_of(const Completion* completion) const noexcept {
  const Pool* pool = pool_.load(std::memory_order_acquire);
  if (pool == nullptr) return nullptr;
  // Any pointer may be passed: it is only compared.
  const std::less<> before;
  Node* const first = pool->nodes.get();
  if (before(completion, static_cast<const Completion*>(first)) ||
      !before(completion, static_cast<const Completion*>(first + limit_)))
    return nullptr;
  return static_cast<Node*>(const_cast<Completion*>(completion));
}

bool Deadlines::may_name(const Completion& object) const noexcept {
  const Pool* pool = count() != 0 ? pool_.load(std::memory_order_acquire) : nullptr;
  for (std::uint32_t index = 0; pool != nullptr && index < limit_; ++index)
    if (pool->nodes[index].to_.load(std::memory_order_relaxed) == &object) return true;
  return false;
}

std::uint32_t Deadlines::update() noexcept {
  std::uint32_t freed = 0;
  for (Node* node = changed_.take_all(); node != nullptr;) {
    Node* const next = node->next;
    const std::uint64_t word = node->word_.fetch_and(~kQueued, std::memory_order_acq_rel);
    if ((word & kEnded) == 0) {
      if (node->position_ != 0) remove(*node);
      if ((word & kCancelled) != 0) node->time_ = kNow;
      insert(*node);
    } else {
      if (node->position_ != 0) remove(*node);
      release(*node);
      ++freed;
    }
    node = next;
  }
  const Pool* pool = pool_.load(std::memory_order_relaxed);
  next_time_.store(pool != nullptr && pool->used != 0 ? pool->heap[0]->time_ : kNever,
                   std::memory_order_relaxed);
  return freed;
}

Deadlines::Node* Deadlines::take_due(std::int64_t now) noexcept {
  const Pool* pool = pool_.load(std::memory_order_relaxed);
  Node* first = nullptr;
  while (pool != nullptr && pool->used != 0 && pool->heap[0]->time_ <= now) {
    Node& node = *pool->heap[0];
    remove(node);
    node.is_due_ = true;
    node.next_due = first;
    first = &node;
  }
  return first;
}

void Deadlines::put_back(Node* first, std::int64_t now) noexcept {
  for (Node* node = first; node != nullptr; node = node->next_due) {
    node->is_due_ = false;
    // A node whose operation has ended is in the list, or about to be, and stays this thread's until
    // update().
    if ((node->word_.load(std::memory_order_acquire) & kEnded) != 0) continue;
    node->time_ = now + node->pause_;
    node->pause_ = std::min(2 * node->pause_, kLongestPause);
    insert(*node);
  }
}

void Deadlines::insert(Node& node) noexcept {
  Pool& pool = *pool_.load(std::memory_order_relaxed);
  ++pool.used;
  move(pool.used - 1, node);
}

void Deadlines::remove(Node& node) noexcept {
  Pool& pool = *pool_.load(std::memory_order_relaxed);
  const std::size_t position = node.position_ - 1;
  node.position_ = 0;
  Node& last = *pool.heap[--pool.used];
  if (&last != &node) move(position, last);
}

/// Puts a node at a free position, then moves it to where it belongs.
void Deadlines::move(std::size_t position, Node& node) noexcept {
  Pool& pool = *pool_.load(std::memory_order_relaxed);
  Node** const heap = pool.heap.get();
  const auto put = [&](std::size_t at, Node& each) {
    heap[at] = &each;
    each.position_ = static_cast<std::uint32_t>(at + 1);
  };
  for (; position != 0; position = (position - 1) / 2) {
    Node& above = *heap[(position - 1) / 2];
    if (above.time_ <= node.time_) break;
    put(position, above);
  }
  for (;;) {
    std::size_t below = 2 * position + 1;
    if (below + 1 < pool.used && heap[below + 1]->time_ < heap[below]->time_) ++below;
    if (below >= pool.used || node.time_ <= heap[below]->time_) break;
    put(position, *heap[below]);
    position = below;
  }
  put(position, node);
}

}  // namespace weft::core
