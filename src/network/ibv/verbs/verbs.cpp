#include "network/ibv/verbs/verbs.hpp"

#include <weft/error.hpp>

#include <dlfcn.h>
#include <atomic>
#include <string>

namespace weft::network::ibv {

namespace {

constexpr const char* kName = "libibverbs.so.1";

std::atomic<const Verbs*> replacement{nullptr};

template <class Function>
void find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  if (function == nullptr)
    throw Error(ErrorClass::network, "ibv: " + std::string(kName) + " has no function " + name);
}

Verbs load() {
  // Never closed: its providers have threads and thread-local objects.
  void* const handle = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    throw Error(ErrorClass::network, "ibv: libibverbs cannot be loaded (" + std::string(::dlerror()) +
                                         "): install libibverbs1 and ibverbs-providers");
  Verbs table{};
  find(handle, "ibv_get_device_list", table.get_device_list);
  find(handle, "ibv_free_device_list", table.free_device_list);
  find(handle, "ibv_get_device_name", table.get_device_name);
  find(handle, "ibv_open_device", table.open_device);
  find(handle, "ibv_close_device", table.close_device);
  find(handle, "ibv_query_device", table.query_device);
  find(handle, "ibv_query_port", table.query_port);
  find(handle, "_ibv_query_gid_ex", table.query_gid);
  find(handle, "ibv_get_async_event", table.get_async_event);
  find(handle, "ibv_ack_async_event", table.ack_async_event);
  find(handle, "ibv_event_type_str", table.event_type_str);
  find(handle, "ibv_wc_status_str", table.wc_status_str);
  find(handle, "ibv_alloc_pd", table.alloc_pd);
  find(handle, "ibv_dealloc_pd", table.dealloc_pd);
  // These three are in no library: they call the provider.
  table.alloc_td = ::ibv_alloc_td;
  table.dealloc_td = ::ibv_dealloc_td;
  table.alloc_parent_domain = ::ibv_alloc_parent_domain;
  find(handle, "ibv_reg_mr", table.reg_mr);
  find(handle, "ibv_dereg_mr", table.dereg_mr);
  find(handle, "ibv_create_comp_channel", table.create_comp_channel);
  find(handle, "ibv_destroy_comp_channel", table.destroy_comp_channel);
  find(handle, "ibv_create_cq", table.create_cq);
  find(handle, "ibv_destroy_cq", table.destroy_cq);
  find(handle, "ibv_get_cq_event", table.get_cq_event);
  find(handle, "ibv_ack_cq_events", table.ack_cq_events);
  find(handle, "ibv_create_srq", table.create_srq);
  find(handle, "ibv_destroy_srq", table.destroy_srq);
  find(handle, "ibv_create_qp", table.create_qp);
  find(handle, "ibv_modify_qp", table.modify_qp);
  find(handle, "ibv_destroy_qp", table.destroy_qp);
  find(handle, "ibv_create_ah", table.create_ah);
  find(handle, "ibv_destroy_ah", table.destroy_ah);
  return table;
}

}  // namespace

const Verbs& verbs() {
  // Pairs with the release in use_verbs().
  if (const Verbs* const table = replacement.load(std::memory_order_acquire); table != nullptr) return *table;
  static const Verbs loaded = load();
  return loaded;
}

void use_verbs(const Verbs& table) noexcept { replacement.store(&table, std::memory_order_release); }

}  // namespace weft::network::ibv
