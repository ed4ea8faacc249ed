// The default supplier of buffers for large active messages.
#include <weft/completion/completion.hpp>

#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <bit>
#include <cstdint>
#include <mutex>
#include <new>

namespace weft::detail {

namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kSmallestCached = std::size_t{32} << 10;
constexpr std::size_t kCachedBytes = std::size_t{32} << 20;  // bytes of unused buffers
constexpr std::size_t kCachedBuffers = 64;
// From this size on, the available memory is checked first: where the kernel overcommits memory, a process
// that writes into missing memory is killed.
constexpr std::size_t kChecked = std::size_t{1} << 30;

/// The heap, with some buffers cached: malloc returns large blocks to the kernel at once, and the page faults
/// of a fresh one cost more than the transfer into it (1 MiB messages: 5 GB/s fresh, 20 GB/s reused).
class HeapPayloads final : public PayloadOwner {
 public:
  std::byte* allocate(std::size_t size) noexcept override {
    const std::size_t room = room_for(size);
    if (room >= kChecked && refusal(room) != nullptr) return nullptr;
    if (room <= kCachedBytes && room >= kSmallestCached) {
      const std::unique_lock lock(mutex_, std::try_to_lock);
      for (std::size_t index = lock.owns_lock() ? count_ : 0; index-- > 0;) {
        if (cached_[index].room != room) continue;
        std::byte* data = cached_[index].data;
        cached_[index] = cached_[--count_];
        bytes_ -= room;
        return data;
      }
    }
    std::byte* const fresh = allocate_fresh(room);
    if (fresh != nullptr || room < kSmallestCached) return fresh;
    release_cached();
    return allocate_fresh(room);
  }

  /// Memory that the rest of the program holds may be free later, so only a size that exceeds a whole limit
  /// will never be available.
  [[nodiscard]] const char* refusal(std::size_t size) const noexcept override {
    if (size >= limit_of(RLIMIT_AS))
      return "this process can never have so much memory within the limit of its address space (ulimit -v): "
             "raise that, or send the message in parts";
    if (size >= limit_of(RLIMIT_DATA))
      return "this process can never have so much memory within the limit of its data (ulimit -d): raise "
             "that, or send the message in parts";
    struct sysinfo host {};
    if (::sysinfo(&host) == 0 && size / host.mem_unit >= std::uint64_t{host.totalram} + host.totalswap)
      return "this host has less memory, swap included: send the message in parts";
    return nullptr;
  }

  void release(std::byte* data, std::size_t size, std::uint64_t) noexcept override {
    const std::size_t room = room_for(size);
    if (room <= kCachedBytes && room >= kSmallestCached) {
      const std::unique_lock lock(mutex_, std::try_to_lock);
      if (lock.owns_lock() && count_ < kCachedBuffers && bytes_ + room <= kCachedBytes) {
        cached_[count_++] = {data, room};
        bytes_ += room;
        return;
      }
    }
    ::operator delete (data, std::align_val_t{kAlignment});
  }

  ~HeapPayloads() { free_cached(); }

 private:
  struct Cached {
    std::byte* data;
    std::size_t room;
  };

  static std::byte* allocate_fresh(std::size_t room) noexcept {
    return static_cast<std::byte*>(::operator new (room, std::align_val_t{kAlignment}, std::nothrow));
  }
  static std::uint64_t limit_of(int resource) noexcept {
    rlimit limit{};
    return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur
                                                                                 : ~std::uint64_t{0};
  }
  /// Frees the cached buffers: they must not take memory that the next message lacks.
  void release_cached() noexcept {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    free_cached();
    count_ = 0;
    bytes_ = 0;
  }
  void free_cached() noexcept {
    for (std::size_t index = 0; index < count_; ++index)
      ::operator delete (cached_[index].data, std::align_val_t{kAlignment});
  }

  /// Rounds up to one of eight sizes between powers of two, so that messages of about the same size use the
  /// same buffers.
  static std::size_t room_for(std::size_t size) noexcept {
    if (size < kSmallestCached || size > kCachedBytes) return size;
    const std::size_t step = std::bit_floor(size) / 8;
    return (size + step - 1) / step * step;
  }

  std::mutex mutex_;  // only tried
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  Cached cached_[kCachedBuffers] = {};
};

}  // namespace

PayloadOwner& heap_payloads() noexcept {
  static HeapPayloads payloads;
  return payloads;
}

}  // namespace weft::detail
