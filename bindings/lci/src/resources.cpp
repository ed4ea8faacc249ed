// Devices, endpoints, packets, engines and memory.
#include <cstring>
#include <deque>

#include "objects.hpp"
#include "process_list.hpp"

namespace lci {

namespace {

/// Takes what a handle stands for from the program, and empties the handle.
template <class Handle>
auto take_back(Handle* handle, const char* operation) {
  if (handle == nullptr) refuse(std::string(operation) + ": the pointer to the handle is null");
  auto taken = Handles<std::remove_pointer_t<decltype(handle->p_impl)>>::take(handle->get_impl(), operation);
  handle->set_impl(nullptr);
  return taken;
}

}  // namespace

device_impl_t::device_impl_t(runtime_impl_t& of_runtime)
    : runtime(of_runtime), device(of_runtime.runtime), own_endpoint(of_runtime, *this, device) {
  const global_attr_t process = requested_attributes();
  attr.net_max_sends = process.net_max_sends;
  attr.net_max_recvs = process.net_max_recvs;
  attr.net_max_cqes = process.net_max_cqes;
  attr.net_send_reserved_pct = process.net_send_reserved_pct;
  attr.ofi_lock_mode = process.ofi_lock_mode;
  attr.alloc_default_endpoint = process.alloc_default_endpoint;
  attr.alloc_progress_endpoint = process.alloc_progress_endpoint;
  attr.use_reg_cache = process.use_reg_cache;
  attr.shm_enable = process.shm_enable;
  attr.shm_ring_size = process.shm_ring_size;
  attr.shm_slot_size = process.shm_slot_size;
  attr.shm_producer_cas_attempts = process.shm_producer_cas_attempts;
  attr.shm_consumer_cas_attempts = process.shm_consumer_cas_attempts;
  attr.shm_max_polls = process.shm_max_polls;
  attr.ibv_td_strategy = process.ibv_td_strategy;
  attr.uid = static_cast<int>(device.index());
  own_endpoint.attr.uid = attr.uid;
}

weft::Collective& device_impl_t::collective() { return made(collective_, 128); }
weft::Collective& device_impl_t::posted_collective() { return made(posted_collective_, 256); }

weft::Collective& device_impl_t::made(std::unique_ptr<weft::Collective>& collective,
                                      std::uint32_t first_key) {
  const std::lock_guard lock(mutex_);
  if (collective == nullptr) {
    const std::uint32_t index = device.index();
    if (index > 125)
      refuse("collectives on device " + std::to_string(index) + ": only devices 0 to 125 have them");
    collective = std::make_unique<weft::Collective>(runtime.runtime, own_endpoint.endpoint,
                                                    weft::CollectiveOptions{.key = first_key + index});
  }
  return *collective;
}

net_context_t alloc_net_context_x::call() const {
  const global_attr_t process = requested_attributes();
  auto made = std::make_unique<net_context_impl_t>();
  net_context_attr_t& attr = made->attr;
  attr.backend = m_backend.get_value_or(process.backend);
  attr.ofi_provider_name = m_ofi_provider_name.get_value_or(process.ofi_provider_name);
  attr.max_msg_size = m_max_msg_size.get_value_or(process.max_msg_size);
  attr.max_inject_size = m_max_inject_size.get_value_or(process.max_inject_size);
  attr.ibv_gid_idx = m_ibv_gid_idx.get_value_or(process.ibv_gid_idx);
  attr.ibv_force_gid_auto_select =
      m_ibv_force_gid_auto_select.get_value_or(process.ibv_force_gid_auto_select);
  attr.device_name = m_device_name.get_value_or(process.device_name);
  attr.ibv_odp_strategy = m_ibv_odp_strategy.get_value_or(process.ibv_odp_strategy);
  attr.ibv_prefetch_strategy = m_ibv_prefetch_strategy.get_value_or(process.ibv_prefetch_strategy);
  attr.use_dmabuf = m_use_dmabuf.get_value_or(process.use_dmabuf);
  attr.user_context = m_user_context;
  return net_context_t(Handles<net_context_impl_t>::give(std::move(made)));
}
void free_net_context_x::call() const { take_back(m_freed, "free_net_context"); }

device_t alloc_device_x::call() const {
  auto made = std::make_unique<device_impl_t>(runtime_of(m_runtime));
  device_attr_t& attr = made->attr;
  attr.net_max_sends = m_net_max_sends.get_value_or(attr.net_max_sends);
  attr.net_max_recvs = m_net_max_recvs.get_value_or(attr.net_max_recvs);
  attr.net_max_cqes = m_net_max_cqes.get_value_or(attr.net_max_cqes);
  attr.net_send_reserved_pct = m_net_send_reserved_pct.get_value_or(attr.net_send_reserved_pct);
  attr.ofi_lock_mode = m_ofi_lock_mode.get_value_or(attr.ofi_lock_mode);
  attr.alloc_default_endpoint = m_alloc_default_endpoint.get_value_or(attr.alloc_default_endpoint);
  attr.alloc_progress_endpoint = m_alloc_progress_endpoint.get_value_or(attr.alloc_progress_endpoint);
  attr.use_reg_cache = m_use_reg_cache.get_value_or(attr.use_reg_cache);
  attr.shm_enable = m_shm_enable.get_value_or(attr.shm_enable);
  attr.shm_ring_size = m_shm_ring_size.get_value_or(attr.shm_ring_size);
  attr.shm_slot_size = m_shm_slot_size.get_value_or(attr.shm_slot_size);
  attr.shm_producer_cas_attempts = m_shm_producer_cas_attempts.get_value_or(attr.shm_producer_cas_attempts);
  attr.shm_consumer_cas_attempts = m_shm_consumer_cas_attempts.get_value_or(attr.shm_consumer_cas_attempts);
  attr.shm_max_polls = m_shm_max_polls.get_value_or(attr.shm_max_polls);
  attr.ibv_td_strategy = m_ibv_td_strategy.get_value_or(attr.ibv_td_strategy);
  attr.user_context = m_user_context;
  return device_t(Handles<device_impl_t>::give(std::move(made)));
}
void free_device_x::call() const {
  const auto device = take_back(m_freed, "free_device");
  Leftovers("a device")
      .free(Handles<endpoint_impl_t>::take_all(
                [&](const endpoint_impl_t& each) { return &each.owner == device.get(); }),
            "endpoint(s)");
}

endpoint_t alloc_endpoint_x::call() const {
  device_impl_t* device = m_device.p_impl;
  if (device == nullptr) device = &default_endpoint(runtime_of(m_runtime)).owner;
  auto made = std::make_unique<endpoint_impl_t>(device->runtime, *device, device->device);
  static std::atomic<int> next{1 << 16};  // above those of devices
  made->attr.uid = next.fetch_add(1);
  made->attr.user_context = m_user_context;
  return endpoint_t(Handles<endpoint_impl_t>::give(std::move(made)));
}
void free_endpoint_x::call() const { take_back(m_freed, "free_endpoint"); }

packet_pool_t alloc_packet_pool_x::call() const {
  runtime_impl_t& runtime = runtime_of(m_runtime);
  auto made = std::make_unique<packet_pool_impl_t>(runtime.pool);
  made->attr.user_context = m_user_context;
  return packet_pool_t(Handles<packet_pool_impl_t>::give(std::move(made)));
}
void free_packet_pool_x::call() const { take_back(m_freed, "free_packet_pool"); }

void* get_upacket_x::call() const {
  runtime_impl_t& runtime =
      m_packet_pool.p_impl != nullptr ? *m_packet_pool.p_impl->runtime : runtime_of(m_runtime);
  return runtime.payloads.take_packet();
}

namespace {
/// Out of line, so that put_upacket() saves no registers for it.
[[gnu::noinline]] void put_back(const runtime_t& runtime, void* packet) {
  Payloads& payloads = runtime_of(runtime).payloads;
  if (payloads.put_packet(packet) || packet == nullptr) return;
  if (payloads.is_inside_packets(packet)) [[unlikely]]
    refuse("put_upacket: the address lies in the memory of the packets, but no packet begins there");
  payloads.allocator().deallocate(packet);
}
}  // namespace
void put_upacket(void* packet) {
  if (g_runtime != nullptr && g_runtime->payloads.put_again(packet)) [[likely]]
    return;
  put_back({}, packet);
}
void put_upacket_x::call() const { put_back(m_runtime, m_packet); }

matching_engine_t alloc_matching_engine_x::call() const {
  runtime_impl_t& runtime = runtime_of(m_runtime);
  auto made = std::make_unique<matching_engine_impl_t>();
  made->runtime = &runtime;
  made->attr.matching_engine_type =
      m_matching_engine_type.get_value_or(requested_attributes().matching_engine_type);
  made->attr.user_context = m_user_context;
  const std::lock_guard lock(runtime.mutex);
  std::uint16_t id = 1;
  while (runtime.engine_ids.contains(id)) ++id;
  if (id > 127) refuse("alloc_matching_engine: 127 matching engines of the runtime exist already");
  made->engine.emplace(runtime.runtime, weft::MatchingEngineOptions{.id = id});
  made->id = id;
  runtime.engine_ids.insert(id);
  return matching_engine_t(Handles<matching_engine_impl_t>::give(std::move(made)));
}
void free_matching_engine_x::call() const {
  const auto engine = take_back(m_freed, "free_matching_engine");
  runtime_impl_t& runtime = *engine->runtime;
  const std::lock_guard lock(runtime.mutex);
  runtime.engine_ids.erase(engine->id);
  engine->engine.reset();  // before another one may take its id
}

weft::OfflineMatchingEngine& matching_engine_impl_t::table() {
  std::call_once(once_, [this] { table_.emplace(weft::OfflineMatchingOptions{.records = 1U << 20}); });
  return *table_;
}

matching_entry_val_t matching_engine_insert_x::call() const {
  using Answer = weft::OfflineMatchingEngine::Answer;
  weft::OfflineMatchingEngine& table = m_matching_engine.get_impl()->table();
  const auto id = reinterpret_cast<std::uintptr_t>(m_value);
  for (;;) {
    const auto result =
        m_entry_type == matching_entry_type_t::send ? table.arrive(id, 0, m_key) : table.post(id, 0, m_key);
    if (result.answer == Answer::matched) return reinterpret_cast<void*>(result.id);
    if (result.answer == Answer::waits) return nullptr;
    if (result.answer == Answer::exhausted)
      refuse("matching_engine_insert: 1048576 entries wait in the engine, and it has room for no more");
  }
}

void set_allocator_x::call() const {
  runtime_of(m_runtime).payloads.set(m_allocator != nullptr ? *m_allocator : g_allocator_default);
}
allocator_base_t* get_allocator_x::call() const { return &runtime_of(m_runtime).payloads.allocator(); }

net_context_t get_default_net_context_x::call() const {
  return net_context_t(&runtime_of(m_runtime).net_context);
}
device_t get_default_device_x::call() const { return device_t(runtime_of(m_runtime).device.get()); }
endpoint_t get_default_endpoint_x::call() const {
  if (m_device.p_impl != nullptr) return endpoint_t(&m_device.p_impl->own_endpoint);
  return endpoint_t(runtime_of(m_runtime).endpoint);
}
packet_pool_t get_default_packet_pool_x::call() const { return packet_pool_t(&runtime_of(m_runtime).pool); }
matching_engine_t get_default_matching_engine_x::call() const {
  return matching_engine_t(&runtime_of(m_runtime).engine);
}

size_t get_max_bcopy_size_x::call() const {
  return m_packet_pool.p_impl != nullptr ? m_packet_pool.p_impl->attr.packet_size
                                         : runtime_of(m_runtime).payloads.packet_bytes();
}

mr_t register_memory_x::call() const {
  if (m_address == nullptr && m_size != 0)
    refuse("register_memory: the address of " + std::to_string(m_size) + " bytes is null");
  runtime_impl_t& runtime = m_device.p_impl != nullptr ? m_device.p_impl->runtime : runtime_of(m_runtime);
  auto made = std::make_unique<mr_impl_t>();
  made->runtime = &runtime;
  made->region = weft::MemoryRegion(runtime.runtime, {static_cast<std::byte*>(m_address), m_size});
  return mr_t(Handles<mr_impl_t>::give(std::move(made)));
}
void deregister_memory_x::call() const {
  if (m_mr == nullptr || m_mr->is_empty()) refuse_empty_handle("mr");
  take_back(m_mr, "deregister_memory");
}
rmr_t get_rmr_x::call() const {
  if (m_mr.is_empty()) refuse_empty_handle("mr");
  Handles<mr_impl_t>::check(m_mr.p_impl, "get_rmr");
  const weft::MemoryRegion& region = m_mr.p_impl->region;
  rmr_t key;
  static_assert(sizeof key.opaque_region == sizeof(weft::RemoteRegion));
  std::memcpy(key.opaque_region, &region.remote(), sizeof key.opaque_region);
  key.base = key.mr_base = reinterpret_cast<std::uintptr_t>(region.bytes().data());
  key.opaque_rkey = 1 + static_cast<std::uint64_t>(region.remote().index);
  return key;
}

}  // namespace lci
