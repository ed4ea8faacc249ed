// What handles that may outlive their runtime keep of it.
#pragma once

#include <weft/detail/export.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

namespace weft::parcel {

class Runtime;

namespace detail {

/// Says whether the runtime still is. Any thread.
class WEFT_API RuntimeLink {
 public:
  explicit RuntimeLink(Runtime& runtime) noexcept : runtime_(runtime) {}

  /// The runtime, which stays until leave(), or nullptr: it is ending, or has ended.
  [[nodiscard]] Runtime* enter() noexcept;
  void leave() noexcept { users_.fetch_sub(1, std::memory_order_release); }
  /// From now on nobody enters. Returns when all who have entered have left. The runtime calls it.
  void close() noexcept;

 private:
  static constexpr std::uint64_t kClosed = std::uint64_t{1} << 63;
  std::atomic<std::uint64_t> users_{0};
  Runtime& runtime_;
};

/// While it lives, so does the runtime, if it has not ended before.
class RuntimeUse {
 public:
  explicit RuntimeUse(RuntimeLink& link) noexcept : link_(link), runtime_(link.enter()) {}
  ~RuntimeUse() {
    if (runtime_ != nullptr) link_.leave();
  }
  RuntimeUse(const RuntimeUse&) = delete;
  RuntimeUse& operator=(const RuntimeUse&) = delete;
  [[nodiscard]] explicit operator bool() const noexcept { return runtime_ != nullptr; }
  /// Throws RuntimeEnded, which names `what`, when it has ended.
  [[nodiscard]] Runtime& get(const char* what) const {
    if (runtime_ == nullptr) [[unlikely]]
      refuse(what);
    return *runtime_;
  }

 private:
  [[noreturn]] WEFT_API static void refuse(const char* what);
  RuntimeLink& link_;
  Runtime* const runtime_;
};

}  // namespace detail
}  // namespace weft::parcel
