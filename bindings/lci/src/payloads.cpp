#include "payloads.hpp"

#include <algorithm>
#include <deque>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>
#include <weft/binding/per_thread.hpp>

#include "process_list.hpp"

namespace lci {

namespace {

constinit PacketCache nobodys_cache;  // never written

/// The caches of all threads, which a runtime that ends takes its packets out of. The mutex is held by
/// whoever makes a cache that of another runtime, and empties it.
using Caches = ProcessList<PacketCache>;

}  // namespace

constinit thread_local PacketCache* packet_cache = &nobodys_cache;

/// The cache of a thread, whose packets it gives back when the thread ends.
class CacheOwner {
 public:
  /// The cache of this thread is for packets of `payloads` from now on.
  static void give_to(const Payloads& payloads) {
    CacheOwner* const owner = weft::PerThread<CacheOwner>::get();
    if (owner == nullptr) return;  // the last destructors of a thread may put packets back still
    const std::lock_guard lock(Caches::get().mutex);
    if (payloads.has_room_for_cache()) hand_over(owner->cache_, &payloads);
  }
  /// The same of any thread's cache, or of none's packets. With the mutex.
  static void hand_over(PacketCache& cache, const Payloads* payloads) noexcept {
    const Payloads* const before = cache.of.load(std::memory_order_relaxed);
    if (before != nullptr) {
      before->empty(cache);
      before->caches_.fetch_sub(1, std::memory_order_relaxed);
    }
    std::fill(std::begin(cache.held), std::end(cache.held), nullptr);
    if (payloads != nullptr) payloads->caches_.fetch_add(1, std::memory_order_relaxed);
    cache.of.store(payloads, std::memory_order_relaxed);
  }
  CacheOwner() {
    Caches& caches = Caches::get();
    const std::lock_guard lock(caches.mutex);
    caches.all.push_back(&cache_);
    packet_cache = &cache_;
  }
  CacheOwner(const CacheOwner&) = delete;
  CacheOwner& operator=(const CacheOwner&) = delete;
  ~CacheOwner() {
    Caches& caches = Caches::get();
    const std::lock_guard lock(caches.mutex);
    std::erase(caches.all, &cache_);
    hand_over(cache_, nullptr);
    packet_cache = &nobodys_cache;
  }

 private:
  PacketCache cache_;
};

Payloads::Payloads(weft::Runtime& runtime)
    : packet_bytes_(runtime.device_limits().packet_bytes),
      packets_(static_cast<std::size_t>(std::stoull(runtime.attribute("packets")))),
      cached_(static_cast<std::uint32_t>(std::min<std::size_t>(packets_ / 64, PacketCache::kMost))),
      runtime_(&runtime) {}

Payloads& Payloads::make(weft::Runtime& runtime) {
  static std::mutex mutex;
  static std::deque<Payloads> all;
  const std::lock_guard lock(mutex);
  return all.emplace_back(runtime);
}

void Payloads::close() noexcept {
  Caches& caches = Caches::get();
  const std::lock_guard lock(caches.mutex);
  for (PacketCache* const cache : caches.all)
    if (cache->of.load(std::memory_order_relaxed) == this) CacheOwner::hand_over(*cache, nullptr);
  runtime_.store(nullptr, std::memory_order_release);
}

void Payloads::empty(PacketCache& cache) const noexcept {
  weft::Runtime* const runtime = runtime_.load(std::memory_order_acquire);
  for (; cache.count != 0; --cache.count)
    if (runtime != nullptr) static_cast<void>(runtime->packet_of(cache.held[cache.count - 1]));
}

void* Payloads::take_from_pool() noexcept {
  weft::Runtime* const runtime = runtime_.load(std::memory_order_acquire);
  if (runtime == nullptr) return nullptr;
  weft::Packet packet = runtime->get_packet();
  if (!packet) return nullptr;
  void* const address = packet.data();
  packet.release();
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (!is_beginning(address)) [[unlikely]]
    note_taken(at);
  return address;
}

/// Before the program has the address, and may put it back.
void Payloads::note_taken(std::uintptr_t at) noexcept {
  std::uintptr_t some = 0;
  if (some_.compare_exchange_strong(some, at, std::memory_order_relaxed)) some = at;
  const std::uintptr_t distance = at > some ? at - some : some - at;
  std::uintptr_t stride = stride_.load(std::memory_order_relaxed);
  const auto divisor = [&] { return stride == kNoDistance ? distance : std::gcd(stride, distance); };
  while (distance != 0 && !stride_.compare_exchange_weak(stride, divisor(), std::memory_order_relaxed))
    continue;
  std::uintptr_t first = first_.load(std::memory_order_relaxed);
  while (at < first && !first_.compare_exchange_weak(first, at, std::memory_order_release)) continue;
  std::uintptr_t last = last_.load(std::memory_order_relaxed);
  while (at > last && !last_.compare_exchange_weak(last, at, std::memory_order_relaxed)) continue;
}

bool Payloads::put_into_pool(void* address) noexcept {
  weft::Runtime* const runtime = runtime_.load(std::memory_order_acquire);
  if (runtime == nullptr) return true;  // it has gone with its runtime
  const bool has_cache = packet_cache->of.load(std::memory_order_relaxed) == this;
  if (!has_cache && cached_ != 0 && has_room_for_cache()) CacheOwner::give_to(*this);
  return static_cast<bool>(runtime->packet_of(address));
}

}  // namespace lci
