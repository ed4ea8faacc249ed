// Handles of resources: pointers that programs copy freely.
#ifndef WEFT_LCI_HANDLES_HPP
#define WEFT_LCI_HANDLES_HPP

#include "attributes.hpp"

namespace lci {

/// Throws std::runtime_error, which names the resource: a handle that was used is empty.
[[noreturn]] WEFT_LCI_API void refuse_empty_handle(const char* resource);

/// What all handles have.
template <class Handle, class Impl>
class resource_t {
 public:
  Impl* p_impl = nullptr;

  bool is_empty() const { return p_impl == nullptr; }
  Impl* get_impl() const {
    if (p_impl == nullptr) refuse_empty_handle(Handle::resource_name());
    return p_impl;
  }
  void set_impl(Impl* impl) { p_impl = impl; }
  bool operator==(const Handle& other) const { return p_impl == other.p_impl; }
  bool operator!=(const Handle& other) const { return p_impl != other.p_impl; }

 protected:
  resource_t() = default;
  explicit resource_t(void* impl) : p_impl(static_cast<Impl*>(impl)) {}
};

// What each class of handles has; WEFT_LCI_GET(int, uid) is get_attr_uid().
#define WEFT_LCI_HANDLE(resource)                                                              \
  using attr_t = resource##_attr_t;                                                            \
  resource##_t() = default;                                                                    \
  resource##_t(void* impl) : resource_t<resource##_t, resource##_impl_t>(impl) {} /* NOLINT */ \
  static const char* resource_name() { return #resource; }                                     \
  WEFT_LCI_API attr_t get_attr() const;
#define WEFT_LCI_GET(type, name) \
  type get_attr_##name() const { return get_attr().name; }

class runtime_impl_t;
class runtime_t : public resource_t<runtime_t, runtime_impl_t> {
 public:
  WEFT_LCI_HANDLE(runtime)
  WEFT_LCI_GET(size_t, packet_return_threshold)
  WEFT_LCI_GET(int, imm_nbits_tag)
  WEFT_LCI_GET(int, imm_nbits_rcomp)
  WEFT_LCI_GET(uint64_t, max_imm_tag)
  WEFT_LCI_GET(uint64_t, max_imm_rcomp)
  WEFT_LCI_GET(uint64_t, max_tag)
  WEFT_LCI_GET(uint64_t, max_rcomp)
  WEFT_LCI_GET(bool, alloc_default_device)
  WEFT_LCI_GET(bool, alloc_default_packet_pool)
  WEFT_LCI_GET(bool, alloc_default_matching_engine)
  WEFT_LCI_GET(attr_rdv_protocol_t, rdv_protocol)
  WEFT_LCI_GET(void*, user_context)
};

class net_context_impl_t;
class net_context_t : public resource_t<net_context_t, net_context_impl_t> {
 public:
  WEFT_LCI_HANDLE(net_context)
  WEFT_LCI_GET(attr_backend_t, backend)
  WEFT_LCI_GET(std::string, ofi_provider_name)
  WEFT_LCI_GET(size_t, max_msg_size)
  WEFT_LCI_GET(size_t, max_inject_size)
  WEFT_LCI_GET(int, ibv_gid_idx)
  WEFT_LCI_GET(bool, ibv_force_gid_auto_select)
  WEFT_LCI_GET(std::string, device_name)
  WEFT_LCI_GET(attr_ibv_odp_strategy_t, ibv_odp_strategy)
  WEFT_LCI_GET(attr_ibv_prefetch_strategy_t, ibv_prefetch_strategy)
  WEFT_LCI_GET(bool, support_putimm)
  WEFT_LCI_GET(net_atomic_scope_t, atomic_scope)
  WEFT_LCI_GET(bool, use_dmabuf)
  WEFT_LCI_GET(void*, user_context)
};

class device_impl_t;
class device_t : public resource_t<device_t, device_impl_t> {
 public:
  WEFT_LCI_HANDLE(device)
  WEFT_LCI_GET(size_t, net_max_sends)
  WEFT_LCI_GET(size_t, net_max_recvs)
  WEFT_LCI_GET(size_t, net_max_cqes)
  WEFT_LCI_GET(double, net_send_reserved_pct)
  WEFT_LCI_GET(uint64_t, ofi_lock_mode)
  WEFT_LCI_GET(bool, alloc_default_endpoint)
  WEFT_LCI_GET(bool, alloc_progress_endpoint)
  WEFT_LCI_GET(bool, use_reg_cache)
  WEFT_LCI_GET(bool, shm_enable)
  WEFT_LCI_GET(size_t, shm_ring_size)
  WEFT_LCI_GET(size_t, shm_slot_size)
  WEFT_LCI_GET(size_t, shm_producer_cas_attempts)
  WEFT_LCI_GET(size_t, shm_consumer_cas_attempts)
  WEFT_LCI_GET(size_t, shm_max_polls)
  WEFT_LCI_GET(int, uid)
  WEFT_LCI_GET(attr_ibv_td_strategy_t, ibv_td_strategy)
  WEFT_LCI_GET(void*, user_context)
};

class endpoint_impl_t;
class endpoint_t : public resource_t<endpoint_t, endpoint_impl_t> {
 public:
  WEFT_LCI_HANDLE(endpoint)
  WEFT_LCI_GET(int, uid)
  WEFT_LCI_GET(void*, user_context)
};

class packet_pool_impl_t;
class packet_pool_t : public resource_t<packet_pool_t, packet_pool_impl_t> {
 public:
  WEFT_LCI_HANDLE(packet_pool)
  WEFT_LCI_GET(size_t, packet_size)
  WEFT_LCI_GET(size_t, npackets)
  WEFT_LCI_GET(void*, user_context)
};

class matching_engine_impl_t;
class matching_engine_t : public resource_t<matching_engine_t, matching_engine_impl_t> {
 public:
  WEFT_LCI_HANDLE(matching_engine)
  WEFT_LCI_GET(attr_matching_engine_type_t, matching_engine_type)
  WEFT_LCI_GET(void*, user_context)
};

class mr_impl_t;
class mr_t : public resource_t<mr_t, mr_impl_t> {
 public:
  WEFT_LCI_HANDLE(mr)
  WEFT_LCI_GET(void*, user_context)
  bool is_empty() const { return reinterpret_cast<uintptr_t>(p_impl) < 3; }
};

class comp_impl_t;
class comp_t : public resource_t<comp_t, comp_impl_t> {
 public:
  WEFT_LCI_HANDLE(comp)
  WEFT_LCI_GET(attr_comp_type_t, comp_type)
  WEFT_LCI_GET(int, sync_threshold)
  WEFT_LCI_GET(bool, zero_copy_am)
  WEFT_LCI_GET(attr_cq_type_t, cq_type)
  WEFT_LCI_GET(int, cq_default_length)
  WEFT_LCI_GET(void*, user_context)
  bool is_empty() const { return reinterpret_cast<uintptr_t>(p_impl) <= 1; }
};

#undef WEFT_LCI_HANDLE
#undef WEFT_LCI_GET

/// Memory of the host, of an accelerator, or of a kind that the network finds out. With weft all are the
/// same.
const mr_t MR_HOST = mr_t();
const mr_t MR_DEVICE = mr_t(reinterpret_cast<void*>(0x1));
const mr_t MR_UNKNOWN = mr_t(reinterpret_cast<void*>(0x2));

/// No completion object: the post returns when the operation is done.
const comp_t COMP_NULL = comp_t();
/// No completion object: the post returns when the operation is done, or retry.
const comp_t COMP_NULL_RETRY = comp_t(reinterpret_cast<void*>(0x1));
const comp_t COMP_NULL_EXPECT_DONE = COMP_NULL;
const comp_t COMP_NULL_EXPECT_DONE_OR_RETRY = COMP_NULL_RETRY;

}  // namespace lci

#endif
