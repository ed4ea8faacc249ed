// Devices, endpoints, packets, memory, matching engines, allocators.
#ifndef WEFT_LCI_RESOURCES_HPP
#define WEFT_LCI_RESOURCES_HPP

#include "arguments.hpp"

namespace lci {

// WEFT_LCI_FREE(device) is the operation free_device, which empties the handle.
#define WEFT_LCI_FREE(resource)                                                               \
  class free_##resource##_x                                                                   \
      : public arguments::operation<free_##resource##_x, void, arguments::runtime_argument> { \
   public:                                                                                    \
    explicit free_##resource##_x(resource##_t* freed) : m_freed(freed) {}                     \
    free_##resource##_x&& resource(resource##_t* freed) {                                     \
      m_freed = freed;                                                                        \
      return std::move(*this);                                                                \
    }                                                                                         \
    WEFT_LCI_API void call() const;                                                           \
    resource##_t* m_freed;                                                                    \
  };                                                                                          \
  inline void free_##resource(resource##_t* resource) { free_##resource##_x(resource).call(); }
// WEFT_LCI_DEFAULT(device) is the operation get_default_device.
#define WEFT_LCI_DEFAULT(resource)                                                                         \
  class get_default_##resource##_x                                                                         \
      : public arguments::operation<get_default_##resource##_x, resource##_t, arguments::runtime_argument, \
                                    arguments::device_argument> {                                          \
   public:                                                                                                 \
    WEFT_LCI_API resource##_t call() const;                                                                \
  };                                                                                                       \
  inline resource##_t get_default_##resource() { return get_default_##resource##_x().call(); }

WEFT_LCI_FREE(net_context)
WEFT_LCI_FREE(device)
WEFT_LCI_FREE(endpoint)
WEFT_LCI_FREE(packet_pool)
WEFT_LCI_FREE(matching_engine)
WEFT_LCI_DEFAULT(net_context)
WEFT_LCI_DEFAULT(device)
WEFT_LCI_DEFAULT(endpoint)
WEFT_LCI_DEFAULT(packet_pool)
WEFT_LCI_DEFAULT(matching_engine)

#undef WEFT_LCI_FREE
#undef WEFT_LCI_DEFAULT

/// Only keeps its attributes: a runtime has one network.
class alloc_net_context_x
    : public arguments::operation<
          alloc_net_context_x, net_context_t, arguments::runtime_argument, arguments::backend_argument,
          arguments::ofi_provider_name_argument, arguments::max_msg_size_argument,
          arguments::max_inject_size_argument, arguments::ibv_gid_idx_argument,
          arguments::ibv_force_gid_auto_select_argument, arguments::device_name_argument,
          arguments::ibv_odp_strategy_argument, arguments::ibv_prefetch_strategy_argument,
          arguments::use_dmabuf_argument, arguments::name_argument, arguments::user_context_argument> {
 public:
  WEFT_LCI_API net_context_t call() const;
};
inline net_context_t alloc_net_context() { return alloc_net_context_x().call(); }

/// Device i of a rank communicates with device i of the others, which are therefore allocated in the same
/// order on all ranks.
class alloc_device_x
    : public arguments::operation<
          alloc_device_x, device_t, arguments::runtime_argument, arguments::net_context_argument,
          arguments::packet_pool_argument, arguments::net_max_sends_argument,
          arguments::net_max_recvs_argument, arguments::net_max_cqes_argument,
          arguments::net_send_reserved_pct_argument, arguments::ofi_lock_mode_argument,
          arguments::alloc_default_endpoint_argument, arguments::alloc_progress_endpoint_argument,
          arguments::use_reg_cache_argument, arguments::shm_enable_argument,
          arguments::shm_ring_size_argument, arguments::shm_slot_size_argument,
          arguments::shm_producer_cas_attempts_argument, arguments::shm_consumer_cas_attempts_argument,
          arguments::shm_max_polls_argument, arguments::ibv_td_strategy_argument, arguments::name_argument,
          arguments::user_context_argument> {
 public:
  WEFT_LCI_API device_t call() const;
};
inline device_t alloc_device() { return alloc_device_x().call(); }

class alloc_endpoint_x
    : public arguments::operation<alloc_endpoint_x, endpoint_t, arguments::runtime_argument,
                                  arguments::device_argument, arguments::name_argument,
                                  arguments::user_context_argument> {
 public:
  WEFT_LCI_API endpoint_t call() const;
};
inline endpoint_t alloc_endpoint() { return alloc_endpoint_x().call(); }

/// A name for the pool of the runtime, which all pools share. The size and number of its packets are those
/// that the process's attributes had when the runtime was allocated.
class alloc_packet_pool_x
    : public arguments::operation<alloc_packet_pool_x, packet_pool_t, arguments::runtime_argument,
                                  arguments::packet_size_argument, arguments::npackets_argument,
                                  arguments::name_argument, arguments::user_context_argument> {
 public:
  WEFT_LCI_API packet_pool_t call() const;
};
inline packet_pool_t alloc_packet_pool() { return alloc_packet_pool_x().call(); }

class register_packet_pool_x
    : public arguments::operation<register_packet_pool_x, void, arguments::runtime_argument,
                                  arguments::packet_pool_argument, arguments::device_argument> {
 public:
  register_packet_pool_x(packet_pool_t pool, device_t with) {
    m_packet_pool = pool;
    m_device = with;
  }
  void call() const {
    m_packet_pool.get_impl();
    m_device.get_impl();
  }
};
inline void register_packet_pool(packet_pool_t packet_pool, device_t device) {
  register_packet_pool_x(packet_pool, device).call();
}
class deregister_packet_pool_x
    : public arguments::operation<deregister_packet_pool_x, void, arguments::runtime_argument,
                                  arguments::packet_pool_argument, arguments::device_argument> {
 public:
  deregister_packet_pool_x(packet_pool_t pool, device_t with) {
    m_packet_pool = pool;
    m_device = with;
  }
  void call() const {
    m_packet_pool.get_impl();
    m_device.get_impl();
  }
};
inline void deregister_packet_pool(packet_pool_t packet_pool, device_t device) {
  deregister_packet_pool_x(packet_pool, device).call();
}

/// A packet to assemble a message in, of get_max_bcopy_size() bytes, or nullptr when the pool is empty. A
/// post of an active message or a send whose local_buffer is its address takes it over unless the answer is
/// retry.
class get_upacket_x : public arguments::operation<get_upacket_x, void*, arguments::runtime_argument,
                                                  arguments::packet_pool_argument> {
 public:
  WEFT_LCI_API void* call() const;
};
inline void* get_upacket() { return get_upacket_x().call(); }
/// Takes back what get_upacket() has returned, and payloads that completion objects with zero_copy_am
/// received.
class put_upacket_x : public arguments::operation<put_upacket_x, void, arguments::runtime_argument> {
 public:
  explicit put_upacket_x(void* address) : m_packet(address) {}
  put_upacket_x&& packet(void* address) {
    m_packet = address;
    return std::move(*this);
  }
  WEFT_LCI_API void call() const;
  void* m_packet;
};
WEFT_LCI_API void put_upacket(void* packet);

class alloc_matching_engine_x
    : public arguments::operation<alloc_matching_engine_x, matching_engine_t, arguments::runtime_argument,
                                  arguments::matching_engine_type_argument, arguments::name_argument,
                                  arguments::user_context_argument> {
 public:
  WEFT_LCI_API matching_engine_t call() const;
};
inline matching_engine_t alloc_matching_engine() { return alloc_matching_engine_x().call(); }

/// Returns the value of the entry of the other type with this key, which is removed, or nullptr: the entry
/// waits.
class matching_engine_insert_x
    : public arguments::operation<matching_engine_insert_x, matching_entry_val_t, arguments::runtime_argument,
                                  arguments::matching_engine_argument> {
 public:
  matching_engine_insert_x(matching_engine_t engine, matching_entry_key_t of, matching_entry_val_t entry,
                           matching_entry_type_t type)
      : m_key(of), m_value(entry), m_entry_type(type) {
    m_matching_engine = engine;
  }
  matching_engine_insert_x&& key(matching_entry_key_t of) {
    m_key = of;
    return std::move(*this);
  }
  matching_engine_insert_x&& value(matching_entry_val_t entry) {
    m_value = entry;
    return std::move(*this);
  }
  matching_engine_insert_x&& entry_type(matching_entry_type_t type) {
    m_entry_type = type;
    return std::move(*this);
  }
  WEFT_LCI_API matching_entry_val_t call() const;
  matching_entry_key_t m_key;
  matching_entry_val_t m_value;
  matching_entry_type_t m_entry_type;
};
inline matching_entry_val_t matching_engine_insert(matching_engine_t matching_engine,
                                                   matching_entry_key_t key, matching_entry_val_t value,
                                                   matching_entry_type_t entry_type) {
  return matching_engine_insert_x(matching_engine, key, value, entry_type).call();
}

/// For payloads that arrive from now on; it must outlive them.
class set_allocator_x : public arguments::operation<set_allocator_x, void, arguments::runtime_argument> {
 public:
  explicit set_allocator_x(allocator_base_t* given) : m_allocator(given) {}
  set_allocator_x&& allocator(allocator_base_t* given) {
    m_allocator = given;
    return std::move(*this);
  }
  WEFT_LCI_API void call() const;
  allocator_base_t* m_allocator;
};
inline void set_allocator(allocator_base_t* allocator) { set_allocator_x(allocator).call(); }
class get_allocator_x
    : public arguments::operation<get_allocator_x, allocator_base_t*, arguments::runtime_argument> {
 public:
  WEFT_LCI_API allocator_base_t* call() const;
};
inline allocator_base_t* get_allocator() { return get_allocator_x().call(); }

class get_max_bcopy_size_x
    : public arguments::operation<get_max_bcopy_size_x, size_t, arguments::runtime_argument,
                                  arguments::packet_pool_argument> {
 public:
  WEFT_LCI_API size_t call() const;
};
inline size_t get_max_bcopy_size() { return get_max_bcopy_size_x().call(); }

class register_memory_x : public arguments::operation<register_memory_x, mr_t, arguments::runtime_argument,
                                                      arguments::device_argument, arguments::size_argument> {
 public:
  register_memory_x(void* begin, size_t bytes) : m_address(begin) { m_size = bytes; }
  register_memory_x&& address(void* begin) {
    m_address = begin;
    return std::move(*this);
  }
  WEFT_LCI_API mr_t call() const;
  void* m_address;
};
inline mr_t register_memory(void* address, size_t size) { return register_memory_x(address, size).call(); }
class deregister_memory_x
    : public arguments::operation<deregister_memory_x, void, arguments::runtime_argument> {
 public:
  explicit deregister_memory_x(mr_t* released) : m_mr(released) {}
  deregister_memory_x&& mr(mr_t* released) {
    m_mr = released;
    return std::move(*this);
  }
  WEFT_LCI_API void call() const;
  mr_t* m_mr;
};
inline void deregister_memory(mr_t* mr) { deregister_memory_x(mr).call(); }
class get_rmr_x
    : public arguments::operation<get_rmr_x, rmr_t, arguments::runtime_argument, arguments::mr_argument> {
 public:
  explicit get_rmr_x(mr_t memory) { m_mr = memory; }
  WEFT_LCI_API rmr_t call() const;
};
inline rmr_t get_rmr(mr_t mr) { return get_rmr_x(mr).call(); }

}  // namespace lci

#endif
