// A link to the completion object to which another one passes its signals on.
#pragma once

#include <weft/detail/export.hpp>

#include <atomic>

namespace weft {

class Completion;

namespace detail {

struct CompletionLinks;

/// Refers to a completion object for as long as that lives; the link is cut when the object dies. One thread
/// at a time sets, makes and destroys it; any thread reads it.
class WEFT_API CompletionLink {
 public:
  CompletionLink() noexcept = default;
  explicit CompletionLink(Completion* to) noexcept { set(to); }
  ~CompletionLink() { set(nullptr); }
  CompletionLink(const CompletionLink&) = delete;
  CompletionLink& operator=(const CompletionLink&) = delete;

  void set(Completion* to) noexcept;
  /// Returns nullptr when no object was set, or it has died.
  [[nodiscard]] Completion* get() const noexcept { return to_.load(std::memory_order_acquire); }
  /// Cuts all links to `object`, which is dying.
  static void cut(const Completion& object) noexcept;

 private:
  friend struct CompletionLinks;
  std::atomic<Completion*> to_{nullptr};
  CompletionLink* next_ = nullptr;
  CompletionLink* previous_ = nullptr;
};

}  // namespace detail
}  // namespace weft
