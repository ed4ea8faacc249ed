// The memory of active messages that programs receive.
#pragma once

#include <lci.hpp>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <weft/weft.hpp>

namespace lci {

class Payloads;

/// Packets that the program has put back in this thread: it takes them again without asking the pool. Another
/// thread looks whose they are, and takes them only when that runtime ends.
struct PacketCache {
  static constexpr std::uint32_t kMost = 16;
  std::atomic<const Payloads*> of{nullptr};  // whose packets they are; written under the mutex of all caches
  std::uint32_t count = 0;
  // Of the packets that the thread has taken, the last one lies behind those that it may take, until another
  // is put there. The last slot stays null.
  void* held[kMost + 1] = {};
};
/// A pointer, since a program that opens the library late has little memory for thread-local variables. Of a
/// thread without a cache it is one that is nobody's.
extern constinit thread_local PacketCache* packet_cache [[gnu::tls_model("initial-exec")]];

/// Where the payloads go that the completion objects of a runtime receive: its allocator and packets. Lives
/// as long as the process, since objects may outlive their runtime.
class Payloads {
 public:
  explicit Payloads(weft::Runtime& runtime);
  [[nodiscard]] static Payloads& make(weft::Runtime& runtime);
  /// The runtime ends: its packets are gone. No other thread uses them any more.
  void close() noexcept;

  [[nodiscard]] allocator_base_t& allocator() const noexcept {
    return *allocator_.load(std::memory_order_acquire);
  }
  void set(allocator_base_t& allocator) noexcept { allocator_.store(&allocator, std::memory_order_release); }
  /// Memory of the allocator; that of malloc() is not asked by a virtual call.
  [[nodiscard, gnu::always_inline]] inline void* allocate(std::size_t size) const noexcept {
    allocator_base_t& used = allocator();
    return &used == &g_allocator_default ? std::malloc(size) : used.allocate(size);
  }

  [[nodiscard]] std::size_t packet_bytes() const noexcept { return packet_bytes_; }
  /// The number of packets of the runtime.
  [[nodiscard]] std::size_t packets() const noexcept { return packets_; }
  /// A packet that the program holds as a plain pointer from now on, or null: the pool is empty. (Caches of
  /// other threads may keep a quarter of the packets.)
  [[nodiscard, gnu::always_inline]] inline void* take_packet() noexcept {
    PacketCache& cache = *packet_cache;
    if (cache.of.load(std::memory_order_relaxed) == this && cache.count != 0) [[likely]]
      return cache.held[--cache.count];
    return take_from_pool();
  }
  /// Takes back what take_packet() has returned. Returns false for all other addresses.
  [[nodiscard, gnu::always_inline]] inline bool put_packet(void* address) noexcept {
    if (put_again(address)) [[likely]]
      return true;
    if (!is_beginning(address)) return false;
    PacketCache& cache = *packet_cache;
    if (cache.of.load(std::memory_order_relaxed) != this || cache.count >= cached_) [[unlikely]]
      return put_into_pool(address);
    cache.held[cache.count++] = address;
    return true;
  }
  /// Takes back the packet that the thread has taken out of its cache last; false: it is another one.
  [[nodiscard, gnu::always_inline]] inline bool put_again(void* address) const noexcept {
    PacketCache& cache = *packet_cache;
    if (cache.of.load(std::memory_order_relaxed) != this || cache.held[cache.count] != address ||
        address == nullptr)
      return false;
    ++cache.count;
    return true;
  }
  /// False for every address that no packet of take_packet() has had, with two loads.
  [[nodiscard]] bool may_hold(const void* address) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= first_.load(std::memory_order_relaxed) && at <= last_.load(std::memory_order_relaxed);
  }
  /// The same for every address inside one of those packets.
  [[nodiscard]] bool is_inside_packets(const void* address) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= first_.load(std::memory_order_relaxed) &&
           at < last_.load(std::memory_order_relaxed) + packet_bytes_;
  }

 private:
  friend class CacheOwner;
  [[gnu::noinline]] void* take_from_pool() noexcept;
  [[gnu::noinline]] bool put_into_pool(void* address) noexcept;
  void empty(PacketCache& cache) const noexcept;
  /// Whether a packet of take_packet() may begin at the address.
  [[nodiscard]] bool is_beginning(const void* address) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    // Acquire: the stride knows the distance of that address.
    const std::uintptr_t first = first_.load(std::memory_order_acquire);
    return at >= first && at <= last_.load(std::memory_order_relaxed) &&
           (at - first) % stride_.load(std::memory_order_relaxed) == 0;
  }
  void note_taken(std::uintptr_t at) noexcept;
  /// Whether one cache more would leave three quarters of the packets to the pool.
  [[nodiscard]] bool has_room_for_cache() const noexcept {
    return (caches_.load(std::memory_order_relaxed) + 1) * std::size_t{cached_} <= packets_ / 4;
  }

  std::atomic<allocator_base_t*> allocator_{&g_allocator_default};
  std::atomic<std::uintptr_t> first_{UINTPTR_MAX};
  std::atomic<std::uintptr_t> last_{0};
  std::atomic<std::uintptr_t> some_{0};  // one of the addresses
  // Divides the distances of all addresses: the greatest such number. Of one address there are none.
  static constexpr std::uintptr_t kNoDistance = UINTPTR_MAX;
  std::atomic<std::uintptr_t> stride_{kNoDistance};
  const std::size_t packet_bytes_;
  const std::size_t packets_;
  const std::uint32_t cached_;                    // packets that a thread keeps
  mutable std::atomic<std::uint32_t> caches_{0};  // threads that do; written under the mutex of all caches
  std::atomic<weft::Runtime*> runtime_;
};

}  // namespace lci
