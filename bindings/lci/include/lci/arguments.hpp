// Arguments of operations: an operation of the fluent form inherits a setter for each of its arguments.
#ifndef WEFT_LCI_ARGUMENTS_HPP
#define WEFT_LCI_ARGUMENTS_HPP

#include "values.hpp"

namespace lci {
namespace arguments {

// WEFT_LCI_ARGUMENT(tag_t, tag, 0) is the class tag_argument<Operation>: the member m_tag, at first 0, and
// the setter tag(), which returns the operation.
#define WEFT_LCI_ARGUMENT(type, name, initial)                         \
  template <class Operation>                                           \
  struct name##_argument {                                             \
    type m_##name = initial;                                           \
    Operation&& name(type value) {                                     \
      m_##name = std::move(value);                                     \
      return static_cast<Operation&&>(static_cast<Operation&>(*this)); \
    }                                                                  \
  };
// An attribute of a resource, at first that of the process.
#define WEFT_LCI_ATTRIBUTE(type, name)                                 \
  template <class Operation>                                           \
  struct name##_argument {                                             \
    option_t<type> m_##name;                                           \
    Operation&& name(type value) {                                     \
      m_##name = std::move(value);                                     \
      return static_cast<Operation&&>(static_cast<Operation&>(*this)); \
    }                                                                  \
  };

// Handles: empty ones stand for the default.
WEFT_LCI_ARGUMENT(runtime_t, runtime, runtime_t())
WEFT_LCI_ARGUMENT(net_context_t, net_context, net_context_t())
WEFT_LCI_ARGUMENT(device_t, device, device_t())
WEFT_LCI_ARGUMENT(endpoint_t, endpoint, endpoint_t())
WEFT_LCI_ARGUMENT(packet_pool_t, packet_pool, packet_pool_t())
WEFT_LCI_ARGUMENT(matching_engine_t, matching_engine, matching_engine_t())
WEFT_LCI_ARGUMENT(comp_t, comp, comp_t())
WEFT_LCI_ARGUMENT(comp_t, local_comp, comp_t())
WEFT_LCI_ARGUMENT(mr_t, mr, mr_t())

// Posts.
WEFT_LCI_ARGUMENT(direction_t, direction, direction_t::OUT)
WEFT_LCI_ARGUMENT(int, rank, -1)
WEFT_LCI_ARGUMENT(void*, local_buffer, nullptr)
WEFT_LCI_ARGUMENT(size_t, size, 0)
WEFT_LCI_ARGUMENT(tag_t, tag, 0)
WEFT_LCI_ARGUMENT(rcomp_t, remote_comp, 0)
WEFT_LCI_ARGUMENT(uintptr_t, remote_disp, 0)
WEFT_LCI_ARGUMENT(rmr_t, rmr, rmr_t())
WEFT_LCI_ARGUMENT(comp_semantic_t, comp_semantic, comp_semantic_t::memory)
WEFT_LCI_ARGUMENT(void*, user_context, nullptr)
WEFT_LCI_ARGUMENT(matching_policy_t, matching_policy, matching_policy_t::rank_tag)
WEFT_LCI_ARGUMENT(bool, allow_done, true)
WEFT_LCI_ARGUMENT(bool, allow_posted, true)
WEFT_LCI_ARGUMENT(bool, allow_retry, true)
WEFT_LCI_ARGUMENT(bool, force_zcopy, false)

// Completion objects and graphs.
WEFT_LCI_ARGUMENT(const char*, name, "")
WEFT_LCI_ARGUMENT(status_t, status, status_t())
WEFT_LCI_ARGUMENT(status_t*, p_out, nullptr)
WEFT_LCI_ARGUMENT(bool, do_progress, true)
WEFT_LCI_ARGUMENT(graph_node_run_cb_t, fn, nullptr)
WEFT_LCI_ARGUMENT(comp_handler_t, handler, nullptr)
WEFT_LCI_ARGUMENT(rcomp_t, n, 0)
WEFT_LCI_ARGUMENT(rcomp_t, rcomp, 0)
WEFT_LCI_ATTRIBUTE(int, threshold)
WEFT_LCI_ATTRIBUTE(int, default_length)
WEFT_LCI_ATTRIBUTE(bool, zero_copy_am)
WEFT_LCI_ATTRIBUTE(attr_cq_type_t, cq_type)
WEFT_LCI_ARGUMENT(graph_node_t, node, nullptr)
WEFT_LCI_ARGUMENT(graph_node_t, src, nullptr)
WEFT_LCI_ARGUMENT(graph_node_t, dst, nullptr)
WEFT_LCI_ARGUMENT(graph_node_free_cb_t, free_cb, nullptr)

// Collectives.
WEFT_LCI_ARGUMENT(void*, buffer, nullptr)
WEFT_LCI_ARGUMENT(const void*, sendbuf, nullptr)
WEFT_LCI_ARGUMENT(void*, recvbuf, nullptr)
WEFT_LCI_ARGUMENT(size_t, count, 0)
WEFT_LCI_ARGUMENT(size_t, recvcount, 0)
WEFT_LCI_ARGUMENT(size_t, item_size, 0)
WEFT_LCI_ARGUMENT(reduce_op_t, op, nullptr)
WEFT_LCI_ARGUMENT(int, root, 0)
WEFT_LCI_ARGUMENT(int, ring_nsteps, 0)

// Attributes of resources.
WEFT_LCI_ATTRIBUTE(size_t, packet_return_threshold)
WEFT_LCI_ATTRIBUTE(int, imm_nbits_tag)
WEFT_LCI_ATTRIBUTE(int, imm_nbits_rcomp)
WEFT_LCI_ATTRIBUTE(bool, alloc_default_device)
WEFT_LCI_ATTRIBUTE(bool, alloc_default_packet_pool)
WEFT_LCI_ATTRIBUTE(bool, alloc_default_matching_engine)
WEFT_LCI_ATTRIBUTE(attr_rdv_protocol_t, rdv_protocol)
WEFT_LCI_ATTRIBUTE(attr_backend_t, backend)
WEFT_LCI_ATTRIBUTE(std::string, ofi_provider_name)
WEFT_LCI_ATTRIBUTE(size_t, max_msg_size)
WEFT_LCI_ATTRIBUTE(size_t, max_inject_size)
WEFT_LCI_ATTRIBUTE(int, ibv_gid_idx)
WEFT_LCI_ATTRIBUTE(bool, ibv_force_gid_auto_select)
WEFT_LCI_ATTRIBUTE(std::string, device_name)
WEFT_LCI_ATTRIBUTE(attr_ibv_odp_strategy_t, ibv_odp_strategy)
WEFT_LCI_ATTRIBUTE(attr_ibv_prefetch_strategy_t, ibv_prefetch_strategy)
WEFT_LCI_ATTRIBUTE(bool, use_dmabuf)
WEFT_LCI_ATTRIBUTE(size_t, net_max_sends)
WEFT_LCI_ATTRIBUTE(size_t, net_max_recvs)
WEFT_LCI_ATTRIBUTE(size_t, net_max_cqes)
WEFT_LCI_ATTRIBUTE(double, net_send_reserved_pct)
WEFT_LCI_ATTRIBUTE(uint64_t, ofi_lock_mode)
WEFT_LCI_ATTRIBUTE(bool, alloc_default_endpoint)
WEFT_LCI_ATTRIBUTE(bool, alloc_progress_endpoint)
WEFT_LCI_ATTRIBUTE(bool, use_reg_cache)
WEFT_LCI_ATTRIBUTE(bool, shm_enable)
WEFT_LCI_ATTRIBUTE(size_t, shm_ring_size)
WEFT_LCI_ATTRIBUTE(size_t, shm_slot_size)
WEFT_LCI_ATTRIBUTE(size_t, shm_producer_cas_attempts)
WEFT_LCI_ATTRIBUTE(size_t, shm_consumer_cas_attempts)
WEFT_LCI_ATTRIBUTE(size_t, shm_max_polls)
WEFT_LCI_ATTRIBUTE(attr_ibv_td_strategy_t, ibv_td_strategy)
WEFT_LCI_ATTRIBUTE(size_t, packet_size)
WEFT_LCI_ATTRIBUTE(size_t, npackets)
WEFT_LCI_ATTRIBUTE(attr_matching_engine_type_t, matching_engine_type)

#undef WEFT_LCI_ARGUMENT
#undef WEFT_LCI_ATTRIBUTE

/// Inherits the arguments in `Arguments`, each a class template of the operation, and calls it.
template <class Operation, class Result, template <class> class... Arguments>
struct operation : Arguments<Operation>... {
  Result operator()() const { return static_cast<const Operation*>(this)->call(); }
};

/// What every operation on the network may be given.
template <class Operation>
struct network_argument : runtime_argument<Operation>,
                          device_argument<Operation>,
                          endpoint_argument<Operation> {};

/// What every post may be given.
template <class Operation>
struct post_argument : network_argument<Operation>,
                       rank_argument<Operation>,
                       local_buffer_argument<Operation>,
                       size_argument<Operation>,
                       local_comp_argument<Operation>,
                       packet_pool_argument<Operation>,
                       mr_argument<Operation>,
                       user_context_argument<Operation>,
                       allow_done_argument<Operation>,
                       allow_posted_argument<Operation>,
                       allow_retry_argument<Operation>,
                       force_zcopy_argument<Operation> {
  void set_post(int to, void* data, size_t bytes, const comp_t& signalled) {
    this->m_rank = to;
    this->m_local_buffer = data;
    this->m_size = bytes;
    this->m_local_comp = signalled;
  }
  /// The status of a post that has answered: its arguments say the rest.
  status_t status_of_post(errorcode_t code) const {
    status_t status(code);
    status.rank = this->m_rank;
    status.buffer = this->m_local_buffer;
    status.size = this->m_size;
    status.tag = static_cast<const Operation*>(this)->m_tag;
    status.user_context = this->m_user_context;
    return status;
  }
};

}  // namespace arguments
}  // namespace lci

#endif
