// Every operation, in both forms, with each of its optional arguments, and every attribute: that they are
// there, with the types that programs expect. Nothing is called but the attributes.
#include <type_traits>

#include "check.hpp"

namespace {

template <class Expected, class Given>
void same(const Given&) {
  static_assert(std::is_same<Expected, Given>::value, "the type that programs expect");
}

struct Given {
  lci::runtime_t runtime;
  lci::net_context_t net_context;
  lci::device_t device;
  lci::endpoint_t endpoint;
  lci::packet_pool_t pool;
  lci::matching_engine_t engine;
  lci::comp_t comp;
  lci::mr_t mr;
  lci::rmr_t rmr;
  lci::graph_node_t node;
  char bytes[8];
};

void setup(Given& g) {
  const auto protocol = lci::attr_rdv_protocol_t::write;
  same<lci::runtime_t>(lci::alloc_runtime_x()
                           .packet_return_threshold(1)
                           .imm_nbits_tag(16)
                           .imm_nbits_rcomp(15)
                           .alloc_default_device(true)
                           .alloc_default_packet_pool(true)
                           .alloc_default_matching_engine(true)
                           .rdv_protocol(protocol)
                           .device_name("")
                           .name("")
                           .user_context(nullptr)());
  same<lci::runtime_t>(lci::g_runtime_init_x().alloc_default_device(false).rdv_protocol(protocol)());
  same<lci::runtime_t>(lci::alloc_runtime());
  same<lci::runtime_t>(lci::g_runtime_init());
  same<lci::runtime_t>(lci::get_g_runtime_x()());
  lci::free_runtime_x(&g.runtime).runtime (&g.runtime)();
  lci::free_runtime(&g.runtime);
  lci::g_runtime_fina_x()();
  lci::g_runtime_fina();
  same<int>(lci::get_rank_me_x()());
  same<int>(lci::get_rank_n_x()());
}

void resources(Given& g) {
  same<lci::net_context_t>(lci::alloc_net_context_x()
                               .runtime(g.runtime)
                               .backend(lci::attr_backend_t::ofi)
                               .ofi_provider_name("")
                               .max_msg_size(1)
                               .max_inject_size(1)
                               .ibv_gid_idx(0)
                               .ibv_force_gid_auto_select(true)
                               .device_name("")
                               .ibv_odp_strategy(lci::attr_ibv_odp_strategy_t::implicit_odp)
                               .ibv_prefetch_strategy(lci::attr_ibv_prefetch_strategy_t::prefetch_no_fault)
                               .use_dmabuf(true)
                               .user_context(nullptr)());
  lci::free_net_context_x(&g.net_context).runtime(g.runtime)();
  same<lci::device_t>(lci::alloc_device_x()
                          .runtime(g.runtime)
                          .net_max_sends(1)
                          .net_max_recvs(1)
                          .net_max_cqes(1)
                          .net_send_reserved_pct(0.5)
                          .ofi_lock_mode(lci::LCI_NET_TRYLOCK_SEND)
                          .alloc_default_endpoint(true)
                          .alloc_progress_endpoint(true)
                          .use_reg_cache(true)
                          .shm_enable(true)
                          .shm_ring_size(1)
                          .shm_slot_size(1)
                          .shm_producer_cas_attempts(1)
                          .shm_consumer_cas_attempts(1)
                          .shm_max_polls(1)
                          .ibv_td_strategy(lci::attr_ibv_td_strategy_t::all_qp)
                          .net_context(g.net_context)
                          .packet_pool(g.pool)
                          .user_context(nullptr)());
  lci::free_device_x(&g.device).runtime(g.runtime)();
  same<lci::endpoint_t>(lci::alloc_endpoint_x().runtime(g.runtime).device(g.device).user_context(nullptr)());
  lci::free_endpoint_x (&g.endpoint)();
  same<lci::packet_pool_t>(lci::alloc_packet_pool_x().packet_size(1).npackets(1).user_context(nullptr)());
  lci::register_packet_pool_x(g.pool, g.device).runtime(g.runtime)();
  lci::deregister_packet_pool(g.pool, g.device);
  lci::free_packet_pool(&g.pool);
  same<void*>(lci::get_upacket_x().runtime(g.runtime).packet_pool(g.pool)());
  lci::put_upacket_x(nullptr).runtime(g.runtime).packet(nullptr)();
  same<lci::matching_engine_t>(
      lci::alloc_matching_engine_x().matching_engine_type(lci::attr_matching_engine_type_t::queue)());
  same<void*>(lci::matching_engine_insert(g.engine, 1, nullptr, lci::matching_entry_type_t::recv));
  lci::free_matching_engine(&g.engine);
  lci::set_allocator_x(lci::get_allocator()).runtime(g.runtime)();
  same<lci::allocator_base_t*>(lci::get_allocator_x().runtime(g.runtime)());
  same<lci::net_context_t>(lci::get_default_net_context_x().runtime(g.runtime)());
  same<lci::device_t>(lci::get_default_device());
  same<lci::endpoint_t>(lci::get_default_endpoint_x().device(g.device)());
  same<lci::packet_pool_t>(lci::get_default_packet_pool());
  same<lci::matching_engine_t>(lci::get_default_matching_engine());
  same<size_t>(lci::get_max_bcopy_size_x().packet_pool(g.pool)());
  same<lci::mr_t>(lci::register_memory_x(g.bytes, 8).device(g.device).runtime(g.runtime)());
  same<lci::mr_impl_t*>(lci::register_memory(g.bytes, 8).get_impl());
  lci::deregister_memory_x (&g.mr)();
  same<lci::rmr_t>(lci::get_rmr(g.mr));
}

/// What every post may be given.
template <class Operation>
Operation&& with_all(Operation&& operation, Given& g) {
  return std::move(operation.runtime(g.runtime)
                       .device(g.device)
                       .endpoint(g.endpoint)
                       .packet_pool(g.pool)
                       .mr(g.mr)
                       .user_context(nullptr)
                       .allow_done(false)
                       .allow_posted(true)
                       .allow_retry(false)
                       .force_zcopy(false));
}

void communication(Given& g) {
  const auto network = lci::comp_semantic_t::network;
  const auto policy = lci::matching_policy_t::tag_only;
  same<lci::status_t>(with_all(lci::post_am_x(0, g.bytes, 8, g.comp, 1).tag(1).comp_semantic(network), g)());
  same<lci::status_t>(with_all(lci::post_send_x(0, g.bytes, 8, 1, g.comp)
                                   .matching_engine(g.engine)
                                   .matching_policy(policy)
                                   .comp_semantic(network),
                               g)());
  same<lci::status_t>(with_all(lci::post_recv_x(lci::ANY_SOURCE, g.bytes, 8, lci::ANY_TAG, g.comp)
                                   .matching_engine(g.engine)
                                   .matching_policy(policy),
                               g)());
  same<lci::status_t>(with_all(
      lci::post_put_x(0, g.bytes, 8, g.comp, 0, g.rmr).tag(1).remote_comp(1).comp_semantic(network), g)());
  same<lci::status_t>(with_all(lci::post_get_x(0, g.bytes, 8, g.comp, 0, g.rmr).tag(1).remote_comp(1), g)());
  same<lci::status_t>(with_all(lci::post_comm_x(lci::direction_t::OUT, 0, g.bytes, 8, g.comp)
                                   .matching_engine(g.engine)
                                   .comp_semantic(network)
                                   .remote_disp(0)
                                   .rmr(g.rmr)
                                   .tag(1)
                                   .remote_comp(1)
                                   .matching_policy(policy),
                               g)());
  // Positional arguments have setters as well, and an operation is kept and changed.
  auto put = lci::post_put_x(0, g.bytes, 8, g.comp, 0, g.rmr).device(g.device);
  put = put.rank(1).local_buffer(g.bytes).size(4).local_comp(g.comp).remote_disp(4).rmr(g.rmr);
  same<lci::status_t>(put.call());
  same<lci::status_t>(lci::post_am(0, g.bytes, 8, lci::COMP_NULL, 1));
  same<lci::status_t>(lci::post_send(0, g.bytes, 8, 1, lci::COMP_NULL_RETRY));
  same<lci::status_t>(lci::post_recv(0, g.bytes, 8, 1, lci::COMP_NULL_EXPECT_DONE));
  same<lci::status_t>(lci::post_get(0, g.bytes, 8, lci::COMP_NULL_EXPECT_DONE_OR_RETRY, 0, g.rmr));
  same<lci::error_t>(lci::progress_x().runtime(g.runtime).device(g.device).endpoint(g.endpoint)());
  same<bool>(lci::test_drained_x().device(g.device)());
  lci::wait_drained_x().device(g.device)();
}

void reduce(const void*, const void*, void*, size_t) {}

void collectives(Given& g) {
  const auto memory = lci::comp_semantic_t::memory;
  lci::barrier_x()
      .device(g.device)
      .endpoint(g.endpoint)
      .matching_engine(g.engine)
      .comp_semantic(memory)
      .comp(g.comp)();
  lci::broadcast_x(g.bytes, 8, 0).algorithm(lci::broadcast_algorithm_t::ring).ring_nsteps(2).comp(g.comp)();
  lci::reduce_x(g.bytes, g.bytes, 1, 8, reduce, 0).device(g.device).matching_engine(g.engine)();
  lci::allreduce_x(g.bytes, g.bytes, 1, 8, reduce)
      .algorithm(lci::allreduce_algorithm_t::tree)
      .ring_nsteps(1)
      .comp(g.comp)();
  lci::reduce_scatter_x(g.bytes, g.bytes, 1, 8, reduce)
      .algorithm(lci::reduce_scatter_algorithm_t::direct)
      .ring_nsteps(1)
      .comp(g.comp)();
  lci::allgather_x(g.bytes, g.bytes, 8).device(g.device)();
  lci::alltoall_x(g.bytes, g.bytes, 8).endpoint(g.endpoint)();
}

void objects(Given& g) {
  lci::status_t status;
  same<lci::comp_t>(
      lci::alloc_sync_x().runtime(g.runtime).threshold(2).zero_copy_am(true).name("").user_context(
          nullptr)());
  same<bool>(lci::sync_test_x(g.comp, &status).comp(g.comp).p_out(nullptr)());
  lci::sync_wait_x(g.comp, &status).device(g.device).do_progress(false)();
  same<lci::comp_t>(lci::alloc_counter_x().name("").user_context(nullptr)());
  same<int64_t>(lci::counter_get(g.comp));
  lci::counter_set(g.comp, 1);
  same<lci::comp_t>(
      lci::alloc_cq_x().default_length(2).zero_copy_am(true).cq_type(lci::attr_cq_type_t::array_atomic)());
  same<lci::status_t>(lci::cq_pop_x(g.comp).runtime(g.runtime)());
  same<lci::comp_t>(lci::alloc_handler_x([](lci::status_t) {}).zero_copy_am(true).user_context(nullptr)());
  same<lci::comp_t>(lci::alloc_graph_x().comp(g.comp).name("").user_context(nullptr).runtime(g.runtime)());
  g.node = lci::graph_add_node_x(g.comp, lci::GRAPH_NODE_DUMMY_CB).value(nullptr).free_cb(nullptr)();
  lci::graph_add_edge_x(g.comp, lci::GRAPH_START, g.node).fn([](lci::status_t, void*, void*) {})();
  lci::graph_node_mark_complete_x(g.node).status(status)();
  same<lci::graph_node_t>(lci::graph_add_node_op(g.comp, lci::post_send_x(0, nullptr, 0, 0, g.comp)));
  lci::graph_start(g.comp);
  same<lci::status_t>(lci::graph_test(g.comp));
  lci::comp_signal(g.comp, status);
  same<lci::rcomp_t>(lci::reserve_rcomps(2));
  same<lci::rcomp_t>(lci::register_rcomp_x(g.comp).rcomp(3).runtime(g.runtime)());
  lci::deregister_rcomp(3);
  lci::free_comp(&g.comp);
}

template <class Value>
void readable(const Value&) {}

/// All 48: those of the process, which may be set, and those that only resources have.
void attributes() {
  const lci::runtime_t runtime = lci::get_g_runtime();
  same<size_t>(runtime.get_attr_packet_return_threshold());
  same<int>(runtime.get_attr_imm_nbits_tag());
  same<int>(runtime.get_attr_imm_nbits_rcomp());
  CHECK(runtime.get_attr_max_imm_tag() <= runtime.get_attr_max_tag());
  CHECK(runtime.get_attr_max_imm_rcomp() <= runtime.get_attr_max_rcomp());
  CHECK(runtime.get_attr_alloc_default_device() && runtime.get_attr_alloc_default_packet_pool());
  CHECK(runtime.get_attr_alloc_default_matching_engine());
  same<lci::attr_rdv_protocol_t>(runtime.get_attr_rdv_protocol());
  const lci::net_context_attr_t network = lci::get_default_net_context().get_attr();
  same<lci::attr_backend_t>(network.backend);
  same<std::string>(network.ofi_provider_name);
  same<std::string>(network.device_name);
  same<lci::attr_ibv_odp_strategy_t>(network.ibv_odp_strategy);
  same<lci::attr_ibv_prefetch_strategy_t>(network.ibv_prefetch_strategy);
  same<lci::net_atomic_scope_t>(network.atomic_scope);
  CHECK(network.support_putimm);
  for (const size_t size : {network.max_msg_size, network.max_inject_size}) readable(size);
  readable(network.ibv_gid_idx);
  for (const bool flag : {network.ibv_force_gid_auto_select, network.use_dmabuf}) readable(flag);
  const lci::device_attr_t device = lci::get_default_device().get_attr();
  for (const size_t size : {device.net_max_sends, device.net_max_recvs, device.net_max_cqes,
                            device.shm_ring_size, device.shm_slot_size, device.shm_producer_cas_attempts,
                            device.shm_consumer_cas_attempts, device.shm_max_polls})
    CHECK(size != 0);
  for (const bool flag : {device.alloc_default_endpoint, device.alloc_progress_endpoint, device.use_reg_cache,
                          device.shm_enable})
    readable(flag);
  same<double>(device.net_send_reserved_pct);
  same<uint64_t>(device.ofi_lock_mode);
  same<lci::attr_ibv_td_strategy_t>(device.ibv_td_strategy);
  CHECK(device.uid >= 0 && lci::get_default_endpoint().get_attr_uid() >= 0);
  const lci::packet_pool_t pool = lci::get_default_packet_pool();
  CHECK(pool.get_attr_packet_size() != 0 && pool.get_attr_npackets() != 0);
  same<lci::attr_matching_engine_type_t>(lci::get_default_matching_engine().get_attr_matching_engine_type());
  lci::comp_t comp = lci::alloc_cq_x().default_length(77).zero_copy_am(true)();
  CHECK(comp.get_attr_comp_type() == lci::attr_comp_type_t::cq && comp.get_attr_cq_default_length() == 77);
  CHECK(comp.get_attr_zero_copy_am() && comp.get_attr_sync_threshold() == 1);
  same<lci::attr_cq_type_t>(comp.get_attr_cq_type());
  lci::free_comp(&comp);
}

}  // namespace

int main(int count, char**) {
  lci::g_runtime_init();
  attributes();
  if (count > 1) {  // never: it is enough that they are compiled
    Given given;
    setup(given);
    resources(given);
    communication(given);
    collectives(given);
    objects(given);
  }
  lci::g_runtime_fina();
  std::puts("ok");
  return 0;
}
