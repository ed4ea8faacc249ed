#include <weft/detail/completion_link.hpp>

#include <array>
#include <cstdint>
#include <mutex>

namespace weft::detail {

/// The links that name objects whose addresses have the same hash: an object that is destroyed looks at
/// these, however many others there are. They have no destructor, because objects may be destroyed at the
/// very end of the process.
struct alignas(64) CompletionLinks {
  std::mutex mutex;
  std::atomic<std::uint32_t> count{0};
  CompletionLink* first = nullptr;

  static CompletionLinks& to(const Completion& object) noexcept {
    constexpr unsigned kLog = 8;
    using All = std::array<CompletionLinks, std::size_t{1} << kLog>;
    alignas(All) static std::byte memory[sizeof(All)];
    static All& all = *new (memory) All;
    const std::uint64_t address = reinterpret_cast<std::uintptr_t>(&object);
    return all[(address * 0x9E37'79B9'7F4A'7C15) >> (64 - kLog)];
  }

  void add(CompletionLink& link, Completion& object) noexcept {
    link.next_ = first;
    link.previous_ = nullptr;
    if (first != nullptr) first->previous_ = &link;
    first = &link;
    count.fetch_add(1, std::memory_order_relaxed);
    link.to_.store(&object, std::memory_order_release);
  }

  void remove(CompletionLink& link) noexcept {
    link.to_.store(nullptr, std::memory_order_release);
    (link.previous_ != nullptr ? link.previous_->next_ : first) = link.next_;
    if (link.next_ != nullptr) link.next_->previous_ = link.previous_;
    count.fetch_sub(1, std::memory_order_relaxed);
  }

  void cut(const Completion& object) noexcept {
    for (CompletionLink* link = first; link != nullptr;) {
      CompletionLink* const next = link->next_;
      if (link->to_.load(std::memory_order_relaxed) == &object) remove(*link);
      link = next;
    }
  }
};

void CompletionLink::set(Completion* to) noexcept {
  Completion* const before = to_.load(std::memory_order_relaxed);
  if (to == before) return;
  if (before != nullptr) {
    CompletionLinks& links = CompletionLinks::to(*before);
    const std::lock_guard lock(links.mutex);
    if (to_.load(std::memory_order_relaxed) == before) links.remove(*this);  // else the object has just died
  }
  if (to != nullptr) {
    CompletionLinks& links = CompletionLinks::to(*to);
    const std::lock_guard lock(links.mutex);
    links.add(*this, *to);
  }
}

void CompletionLink::cut(const Completion& object) noexcept {
  CompletionLinks& links = CompletionLinks::to(object);
  if (links.count.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(links.mutex);
  links.cut(object);
}

}  // namespace weft::detail
