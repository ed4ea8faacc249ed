#include <weft/detail/completion_link.hpp>

#include <cstdint>
#include <mutex>

namespace weft::detail {

namespace {

/// The links that name an object. Has no destructor, because objects may be destroyed at the very end of the
/// process.
struct LinkList {
  std::mutex mutex;
  std::atomic<std::uint32_t> count{0};
  CompletionLink* first = nullptr;
};

LinkList& links() noexcept {
  alignas(LinkList) static std::byte memory[sizeof(LinkList)];
  static LinkList& list = *new (memory) LinkList;
  return list;
}

}  // namespace

void CompletionLink::set(Completion* to) noexcept {
  if (to == to_.load(std::memory_order_relaxed)) return;
  LinkList& list = links();
  const std::lock_guard lock(list.mutex);
  const bool was_listed = to_.load(std::memory_order_relaxed) != nullptr;
  to_.store(to, std::memory_order_release);
  if (was_listed == (to != nullptr)) return;
  if (to != nullptr) {
    next_ = list.first;
    previous_ = nullptr;
    if (next_ != nullptr) next_->previous_ = this;
    list.first = this;
    list.count.fetch_add(1, std::memory_order_relaxed);
  } else {
    (previous_ != nullptr ? previous_->next_ : list.first) = next_;
    if (next_ != nullptr) next_->previous_ = previous_;
    list.count.fetch_sub(1, std::memory_order_relaxed);
  }
}

void CompletionLink::cut(const Completion& object) noexcept {
  LinkList& list = links();
  if (list.count.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(list.mutex);
  for (CompletionLink* link = list.first; link != nullptr;) {
    CompletionLink* const next = link->next_;
    if (link->to_.load(std::memory_order_relaxed) == &object) {
      link->to_.store(nullptr, std::memory_order_release);
      (link->previous_ != nullptr ? link->previous_->next_ : list.first) = next;
      if (next != nullptr) next->previous_ = link->previous_;
      list.count.fetch_sub(1, std::memory_order_relaxed);
    }
    link = next;
  }
}

}  // namespace weft::detail
