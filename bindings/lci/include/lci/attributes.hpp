// Attributes: of the process, and of each kind of resource.
#ifndef WEFT_LCI_ATTRIBUTES_HPP
#define WEFT_LCI_ATTRIBUTES_HPP

#include "base.hpp"

namespace lci {

/// The defaults of all resources that are allocated from now on. Variables LCI_ATTR_<NAME> set them when LCI
/// is initialised. Those that weft has a use for: npackets, packet_size, alloc_default_..., sync_threshold,
/// zero_copy_am, cq_default_length. The others are kept, and returned.
struct global_attr_t {
  // runtime
  size_t packet_return_threshold = 4096;
  int imm_nbits_tag = 16;
  int imm_nbits_rcomp = 15;
  bool alloc_default_device = true;
  bool alloc_default_packet_pool = true;
  bool alloc_default_matching_engine = true;
  attr_rdv_protocol_t rdv_protocol = attr_rdv_protocol_t::write;
  // network context
  attr_backend_t backend = attr_backend_t::none;
  std::string ofi_provider_name;
  size_t max_msg_size = size_t{1} << 62;
  size_t max_inject_size = 64;
  int ibv_gid_idx = -1;
  bool ibv_force_gid_auto_select = false;
  std::string device_name;
  attr_ibv_odp_strategy_t ibv_odp_strategy = attr_ibv_odp_strategy_t::none;
  attr_ibv_prefetch_strategy_t ibv_prefetch_strategy = attr_ibv_prefetch_strategy_t::none;
  bool use_dmabuf = true;
  // device
  size_t net_max_sends = 64;
  size_t net_max_recvs = 4096;
  size_t net_max_cqes = 65536;
  double net_send_reserved_pct = 0.25;
  uint64_t ofi_lock_mode = 0;
  bool alloc_default_endpoint = true;
  bool alloc_progress_endpoint = false;
  bool use_reg_cache = false;
  bool shm_enable = true;
  size_t shm_ring_size = 65536;
  size_t shm_slot_size = 128;
  size_t shm_producer_cas_attempts = 4;
  size_t shm_consumer_cas_attempts = 1;
  size_t shm_max_polls = 20;
  attr_ibv_td_strategy_t ibv_td_strategy = attr_ibv_td_strategy_t::per_qp;
  // packet pool; those of weft (WEFT_PACKET_SIZE, WEFT_PACKETS) unless they are set to others
  size_t packet_size = 0;
  size_t npackets = 0;
  // matching engine
  attr_matching_engine_type_t matching_engine_type = attr_matching_engine_type_t::map;
  // completion objects
  int sync_threshold = 1;
  bool zero_copy_am = false;
  attr_cq_type_t cq_type = attr_cq_type_t::lcrq;
  int cq_default_length = 65536;
};

struct runtime_attr_t {
  size_t packet_return_threshold = 0;
  int imm_nbits_tag = 0;
  int imm_nbits_rcomp = 0;
  uint64_t max_imm_tag = 0;
  uint64_t max_imm_rcomp = 0;
  uint64_t max_tag = 0;
  uint64_t max_rcomp = 0;
  bool alloc_default_device = true;
  bool alloc_default_packet_pool = true;
  bool alloc_default_matching_engine = true;
  attr_rdv_protocol_t rdv_protocol = attr_rdv_protocol_t::write;
  void* user_context = nullptr;
};
struct net_context_attr_t {
  attr_backend_t backend = attr_backend_t::none;
  std::string ofi_provider_name;
  size_t max_msg_size = 0;
  size_t max_inject_size = 0;
  int ibv_gid_idx = -1;
  bool ibv_force_gid_auto_select = false;
  std::string device_name;
  attr_ibv_odp_strategy_t ibv_odp_strategy = attr_ibv_odp_strategy_t::none;
  attr_ibv_prefetch_strategy_t ibv_prefetch_strategy = attr_ibv_prefetch_strategy_t::none;
  bool support_putimm = true;
  net_atomic_scope_t atomic_scope = net_atomic_scope_t::NONE;
  bool use_dmabuf = true;
  void* user_context = nullptr;
};
struct device_attr_t {
  size_t net_max_sends = 0;
  size_t net_max_recvs = 0;
  size_t net_max_cqes = 0;
  double net_send_reserved_pct = 0;
  uint64_t ofi_lock_mode = 0;
  bool alloc_default_endpoint = true;
  bool alloc_progress_endpoint = false;
  bool use_reg_cache = false;
  bool shm_enable = true;
  size_t shm_ring_size = 0;
  size_t shm_slot_size = 0;
  size_t shm_producer_cas_attempts = 0;
  size_t shm_consumer_cas_attempts = 0;
  size_t shm_max_polls = 0;
  int uid = -1;  ///< the index of weft's device
  attr_ibv_td_strategy_t ibv_td_strategy = attr_ibv_td_strategy_t::per_qp;
  void* user_context = nullptr;
};
struct endpoint_attr_t {
  int uid = -1;
  void* user_context = nullptr;
};
struct packet_pool_attr_t {
  size_t packet_size = 0;
  size_t npackets = 0;
  void* user_context = nullptr;
};
struct matching_engine_attr_t {
  attr_matching_engine_type_t matching_engine_type = attr_matching_engine_type_t::map;
  void* user_context = nullptr;
};
struct mr_attr_t {
  void* user_context = nullptr;
};
struct comp_attr_t {
  attr_comp_type_t comp_type = attr_comp_type_t::custom;
  int sync_threshold = 1;
  bool zero_copy_am = false;
  attr_cq_type_t cq_type = attr_cq_type_t::lcrq;
  int cq_default_length = 65536;
  void* user_context = nullptr;
};

}  // namespace lci

#endif
