// What handles stand for.
#pragma once

#include <lci.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>
#include <weft/collective.hpp>
#include <weft/matching/offline.hpp>
#include <weft/weft.hpp>

namespace lci {

/// Delivers large active messages into memory of the program's allocator.
class AllocatorOwner final : public weft::PayloadOwner {
 public:
  [[nodiscard]] allocator_base_t& allocator() const noexcept {
    return *allocator_.load(std::memory_order_acquire);
  }
  void set(allocator_base_t& allocator) noexcept { allocator_.store(&allocator, std::memory_order_release); }
  std::byte* allocate(std::size_t size) noexcept override {
    return static_cast<std::byte*>(allocator().allocate(size));
  }
  void release(std::byte* data, std::size_t, std::uint64_t) noexcept override {
    allocator().deallocate(data);
  }

 private:
  std::atomic<allocator_base_t*> allocator_{&g_allocator_default};
};

/// Keeps the ranks that have failed until progress has thrown for them.
class FailedRanks final : public weft::Completion {
 public:
  ~FailedRanks() override { retire(); }
  void signal(weft::Message& message) noexcept override;
  [[nodiscard]] bool ready() const noexcept override { return any_.load(std::memory_order_acquire); }
  /// Throws peer_failure_error for the first of them.
  void throw_next();

 private:
  std::mutex mutex_;
  std::vector<int> ranks_;
  std::atomic<bool> any_{false};
};

/// Packets that the program holds as plain pointers.
class HeldPackets {
 public:
  /// An empty address when the pool is empty.
  [[nodiscard]] void* take(weft::Runtime& runtime) noexcept;
  /// False for every address that no packet of take() has had, with two loads.
  [[nodiscard]] bool may_hold(const void* address) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= first_.load(std::memory_order_relaxed) && at <= last_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uintptr_t> first_{UINTPTR_MAX};
  std::atomic<std::uintptr_t> last_{0};
};

class packet_pool_impl_t {
 public:
  packet_pool_attr_t attr;
  runtime_impl_t* runtime = nullptr;
};

class net_context_impl_t {
 public:
  net_context_attr_t attr;
};

class endpoint_impl_t {
 public:
  endpoint_impl_t(runtime_impl_t& of_runtime, device_impl_t& of_device, weft::Device& device)
      : runtime(of_runtime),
        owner(of_device),
        index(static_cast<std::uint8_t>(device.index())),
        endpoint(device) {}
  runtime_impl_t& runtime;
  device_impl_t& owner;
  const std::uint8_t index;  // of the device
  weft::Endpoint endpoint;
  endpoint_attr_t attr;
};

class device_impl_t {
 public:
  explicit device_impl_t(runtime_impl_t& of_runtime);
  /// The device's collectives, made when they are first used.
  weft::Collective& collective();

  runtime_impl_t& runtime;
  weft::Device device;
  endpoint_impl_t own_endpoint;
  device_attr_t attr;

 private:
  std::mutex mutex_;
  std::unique_ptr<weft::Collective> collective_;
};

class matching_engine_impl_t {
 public:
  matching_engine_attr_t attr;
  runtime_impl_t* runtime = nullptr;
  std::uint16_t id = 0;
  std::optional<weft::MatchingEngine> engine;  // none: the runtime's default engine
  /// The engine behind matching_engine_insert(), made when it is first used.
  weft::OfflineMatchingEngine& table();

 private:
  std::once_flag once_;
  std::optional<weft::OfflineMatchingEngine> table_;
};

class mr_impl_t {
 public:
  mr_attr_t attr;
  weft::MemoryRegion region;
};

/// Numbers of remote completions: the low half is the id under which weft exposes the object, the high half
/// counts earlier objects under that id.
struct Rcomp {
  static constexpr std::uint32_t kFirst = 1;
  static constexpr std::uint32_t kEnd = weft::collective_ids;
  [[nodiscard]] static rcomp_t of(weft::RemoteCompletion handle) noexcept {
    return static_cast<rcomp_t>(handle.id()) | static_cast<rcomp_t>(handle.generation() - 1) << 16;
  }
  [[nodiscard]] static weft::RemoteCompletion handle(rcomp_t rcomp, std::uint8_t device) noexcept {
    return {static_cast<std::uint16_t>(rcomp), static_cast<std::uint16_t>((rcomp >> 16) + 1), device};
  }
};

class runtime_impl_t {
 public:
  explicit runtime_impl_t(const arguments::alloc_runtime_argument<alloc_runtime_x>& given);
  ~runtime_impl_t();

  AllocatorOwner payloads;  // before what delivers into it
  weft::Runtime runtime;
  runtime_attr_t attr;
  const std::size_t packet_bytes;
  HeldPackets held;
  FailedRanks failed;

  net_context_impl_t net_context;
  packet_pool_impl_t pool;
  matching_engine_impl_t engine;
  std::unique_ptr<device_impl_t> device;
  endpoint_impl_t* endpoint = nullptr;  // the default one, or null

  std::mutex mutex;
  std::uint32_t next_rcomp = Rcomp::kFirst;
  std::set<std::uint16_t> engine_ids;
};

/// The runtime that operations use which are given none.
extern runtime_impl_t* g_runtime;

[[noreturn]] void refuse(const std::string& what);

[[nodiscard]] inline runtime_impl_t& runtime_of(const runtime_t& given) {
  if (given.p_impl != nullptr) return *given.p_impl;
  if (g_runtime == nullptr) [[unlikely]]
    refuse("there is no runtime: call g_runtime_init() first, or name one with .runtime()");
  return *g_runtime;
}
[[nodiscard]] inline endpoint_impl_t& default_endpoint(runtime_impl_t& runtime) {
  if (runtime.endpoint == nullptr) [[unlikely]]
    refuse("the runtime has no default device: name one with .device(), or allocate the runtime with it");
  return *runtime.endpoint;
}
template <class Operation>
[[nodiscard]] endpoint_impl_t& endpoint_of(const Operation& operation) {
  if (operation.m_endpoint.p_impl != nullptr) return *operation.m_endpoint.p_impl;
  if (operation.m_device.p_impl != nullptr) return operation.m_device.p_impl->own_endpoint;
  return default_endpoint(runtime_of(operation.m_runtime));
}

}  // namespace lci
