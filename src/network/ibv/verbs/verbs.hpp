// The functions of libibverbs that weft calls: those of the library, which is opened when it is first used,
// or those of a double that a test has brought.
//
// Posts and polls are not among them. Verbs call these through the table of the device (ibv_context::ops),
// and a double fills in that table, too: the data path takes no further indirection.
#pragma once

#include <infiniband/verbs.h>

namespace weft::network::ibv {

struct Verbs {
  decltype(&::ibv_get_device_list) get_device_list;
  decltype(&::ibv_free_device_list) free_device_list;
  decltype(&::ibv_get_device_name) get_device_name;
  decltype(&::ibv_open_device) open_device;
  decltype(&::ibv_close_device) close_device;
  decltype(&::ibv_query_device) query_device;
  decltype(&::ibv_query_port) query_port;  // called by read_port()
  decltype(&::_ibv_query_gid_ex) query_gid;
  decltype(&::ibv_get_async_event) get_async_event;
  decltype(&::ibv_ack_async_event) ack_async_event;
  decltype(&::ibv_event_type_str) event_type_str;
  decltype(&::ibv_wc_status_str) wc_status_str;
  decltype(&::ibv_alloc_pd) alloc_pd;
  decltype(&::ibv_dealloc_pd) dealloc_pd;
  decltype(&::ibv_alloc_td) alloc_td;
  decltype(&::ibv_dealloc_td) dealloc_td;
  decltype(&::ibv_alloc_parent_domain) alloc_parent_domain;
  decltype(&::ibv_reg_mr) reg_mr;
  decltype(&::ibv_dereg_mr) dereg_mr;
  decltype(&::ibv_create_comp_channel) create_comp_channel;
  decltype(&::ibv_destroy_comp_channel) destroy_comp_channel;
  decltype(&::ibv_create_cq) create_cq;
  decltype(&::ibv_destroy_cq) destroy_cq;
  decltype(&::ibv_get_cq_event) get_cq_event;
  decltype(&::ibv_ack_cq_events) ack_cq_events;
  decltype(&::ibv_create_srq) create_srq;
  decltype(&::ibv_destroy_srq) destroy_srq;
  decltype(&::ibv_create_qp) create_qp;
  decltype(&::ibv_modify_qp) modify_qp;
  decltype(&::ibv_destroy_qp) destroy_qp;
  decltype(&::ibv_create_ah) create_ah;
  decltype(&::ibv_destroy_ah) destroy_ah;
};

/// Returns the table. Any thread. Throws weft::Error when there is no libibverbs on this host.
[[nodiscard]] const Verbs& verbs();

/// Makes verbs() return `table`, which must live on, from now on. For tests, before a network is made.
void use_verbs(const Verbs& table) noexcept;

}  // namespace weft::network::ibv
