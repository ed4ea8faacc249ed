// The table of functions over the fabric.
#include "network/ibv/verbs/verbs.hpp"
#include "support/verbs_double/fabric.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

struct _compat_ibv_port_attr {};  // is only passed on

namespace weft::test::verbs {

namespace {

constexpr std::uint32_t kMostInline = 236;  // as soft-RoCE has it

ibv_device& only_device() {
  static ibv_device device = [] {
    ibv_device made{};
    made.node_type = IBV_NODE_CA;
    made.transport_type = IBV_TRANSPORT_IB;
    std::strcpy(made.name, "double0");
    return made;
  }();
  return device;
}

ibv_device** get_device_list(int* count) {
  if (count != nullptr) *count = 1;
  return new ibv_device* [2] { &only_device(), nullptr };
}
void free_device_list(ibv_device** list) { delete[] list; }
const char* get_device_name(ibv_device* device) { return device->name; }

ibv_context* open_device(ibv_device* device) {
  auto* const context = new ibv_context{};
  context->device = device;
  context->async_fd = ::eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
  context->num_comp_vectors = 1;
  context->ops.poll_cq = [](ibv_cq* queue, int count, ibv_wc* entries) {
    return Fabric::instance().poll(static_cast<CompletionQueue&>(*queue),
                                   {entries, static_cast<std::size_t>(count)});
  };
  context->ops.req_notify_cq = [](ibv_cq* queue, int) {
    Fabric::instance().arm(static_cast<CompletionQueue&>(*queue));
    return 0;
  };
  context->ops.post_srq_recv = [](ibv_srq* queue, ibv_recv_wr* request, ibv_recv_wr** refused) {
    return Fabric::instance().post_receive(static_cast<ReceiveQueue&>(*queue), request, refused);
  };
  context->ops.post_recv = [](ibv_qp* pair, ibv_recv_wr* request, ibv_recv_wr** refused) {
    return Fabric::instance().post_receive(static_cast<QueuePair&>(*pair), request, refused);
  };
  context->ops.post_send = [](ibv_qp* pair, ibv_send_wr* request, ibv_send_wr** refused) {
    return Fabric::instance().post_send(static_cast<QueuePair&>(*pair), request, refused);
  };
  Fabric::instance().open(*context);
  return context;
}

int close_device(ibv_context* context) {
  Fabric::instance().close(*context);
  ::close(context->async_fd);
  delete context;
  return 0;
}

int query_device(ibv_context*, ibv_device_attr* limits) {
  *limits = {};
  limits->phys_port_cnt = 1;
  limits->max_cqe = static_cast<int>(Fabric::instance().limit(&Faults::most_completions, 32767));
  limits->max_srq_wr = static_cast<int>(Fabric::instance().limit(&Faults::most_receives, 32768));
  limits->max_qp_rd_atom = 128;
  limits->max_qp_init_rd_atom = 128;
  limits->atomic_cap = Fabric::instance().has_atomics() ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE;
  return 0;
}

int query_port(ibv_context*, std::uint8_t number, _compat_ibv_port_attr* room) {
  if (number != 1) return EINVAL;
  auto& port = *reinterpret_cast<ibv_port_attr*>(room);
  port.state = IBV_PORT_ACTIVE;
  port.active_mtu = IBV_MTU_1024;
  port.gid_tbl_len = 16;
  port.max_msg_sz = 8U << 20;
  port.link_layer = IBV_LINK_LAYER_ETHERNET;
  return 0;
}

int query_gid(ibv_context*, std::uint32_t port, std::uint32_t index, ibv_gid_entry* entry, std::uint32_t,
              std::size_t) {
  if (index > 1) return ENODATA;
  *entry = {};
  entry->gid_index = index;
  entry->port_num = port;
  entry->gid_type = IBV_GID_TYPE_ROCE_V2;
  const std::uint8_t link[16] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const std::uint8_t mapped[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
  std::memcpy(entry->gid.raw, index == 0 ? link : mapped, sizeof entry->gid.raw);
  return 0;
}

int get_async_event(ibv_context* context, ibv_async_event* event) {
  return Fabric::instance().take_event(*context, *event) ? 0 : -1;
}
void ack_async_event(ibv_async_event*) {}
const char* event_type_str(ibv_event_type) { return "event of the double"; }
const char* wc_status_str(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_WR_FLUSH_ERR:
      return "Work Request Flushed Error";
    case IBV_WC_RETRY_EXC_ERR:
      return "transport retry counter exceeded";
    case IBV_WC_REM_ACCESS_ERR:
      return "remote access error";
    default:
      return "another error";
  }
}

ibv_pd* alloc_pd(ibv_context* context) {
  auto* const made = new Domain{};
  made->context = context;
  made->root = made;
  return made;
}
int dealloc_pd(ibv_pd* domain) {
  delete static_cast<Domain*>(domain);
  return 0;
}

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr*) {
  if (Fabric::instance().refuses(&Faults::refuse_thread_domains)) return nullptr;
  auto* const made = new ThreadDomain{};
  made->context = context;
  return made;
}
int dealloc_td(ibv_td* threads) {
  delete static_cast<ThreadDomain*>(threads);
  return 0;
}
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* wanted) {
  auto* const made = new Domain{};
  made->context = context;
  made->root = wanted->pd;
  made->threads = static_cast<ThreadDomain*>(wanted->td);
  return made;
}

ibv_mr* reg_mr(ibv_pd* domain, void* address, std::size_t size, int access) {
  if (Fabric::instance().refuses(&Faults::refuse_registrations)) return nullptr;
  auto* const made = new ibv_mr{domain->context, domain, address, size, 0, 0, 0};
  Fabric::instance().add(*made, access);
  return made;
}
int dereg_mr(ibv_mr* registration) {
  Fabric::instance().remove(*registration);
  delete registration;
  return 0;
}

ibv_comp_channel* create_comp_channel(ibv_context* context) {
  auto* const made = new Channel{};
  made->context = context;
  made->fd = ::eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
  return made;
}
int destroy_comp_channel(ibv_comp_channel* channel) {
  ::close(channel->fd);
  delete static_cast<Channel*>(channel);
  return 0;
}

ibv_cq* create_cq(ibv_context* context, int entries, void*, ibv_comp_channel* channel, int) {
  auto* const made = new CompletionQueue{};
  made->context = context;
  made->channel = channel;
  made->cqe = entries;
  static_cast<Channel*>(channel)->queue = made;
  return made;
}
int destroy_cq(ibv_cq* queue) {
  delete static_cast<CompletionQueue*>(queue);
  return 0;
}
int get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void**) {
  std::uint64_t count = 0;
  if (::read(channel->fd, &count, sizeof count) != sizeof count) return -1;
  *queue = static_cast<Channel*>(channel)->queue;
  return 0;
}
void ack_cq_events(ibv_cq*, unsigned) {}

ibv_srq* create_srq(ibv_pd* domain, ibv_srq_init_attr* wanted) {
  auto* const made = new ReceiveQueue{};
  made->context = domain->context;
  made->pd = domain;
  made->most = wanted->attr.max_wr;
  Fabric::instance().add(*made);
  return made;
}
int destroy_srq(ibv_srq* queue) {
  auto* const made = static_cast<ReceiveQueue*>(queue);
  Fabric::instance().remove(*made);
  delete made;
  return 0;
}

ibv_qp* create_qp(ibv_pd* domain, ibv_qp_init_attr* wanted) {
  if (Fabric::instance().refuses(&Faults::refuse_pairs)) return nullptr;
  if (wanted->cap.max_inline_data > kMostInline) {
    errno = EINVAL;
    return nullptr;
  }
  auto* const made = new QueuePair{};
  made->context = domain->context;
  made->pd = static_cast<Domain*>(domain)->root;
  made->threads = static_cast<Domain*>(domain)->threads;
  made->qp_context = wanted->qp_context;
  made->send_cq = wanted->send_cq;
  made->recv_cq = wanted->recv_cq;
  made->srq = wanted->srq;
  made->qp_type = wanted->qp_type;
  made->state = IBV_QPS_RESET;
  made->limits = wanted->cap;
  Fabric::instance().add(*made);
  return made;
}
int modify_qp(ibv_qp* pair, ibv_qp_attr* attributes, int which) {
  return Fabric::instance().modify(static_cast<QueuePair&>(*pair), *attributes, which);
}
int destroy_qp(ibv_qp* pair) {
  auto* const made = static_cast<QueuePair*>(pair);
  Fabric::instance().remove(*made);
  delete made;
  return 0;
}

ibv_ah* create_ah(ibv_pd* domain, ibv_ah_attr*) {
  if (Fabric::instance().refuses(&Faults::refuse_routes)) return nullptr;
  return new ibv_ah{domain->context, domain, 0};
}
int destroy_ah(ibv_ah* route) {
  delete route;
  return 0;
}

constexpr network::ibv::Verbs kTable{get_device_list, free_device_list,    get_device_name,
                                     open_device,     close_device,        query_device,
                                     query_port,      query_gid,           get_async_event,
                                     ack_async_event, event_type_str,      wc_status_str,
                                     alloc_pd,        dealloc_pd,          alloc_td,
                                     dealloc_td,      alloc_parent_domain, reg_mr,
                                     dereg_mr,        create_comp_channel, destroy_comp_channel,
                                     create_cq,       destroy_cq,          get_cq_event,
                                     ack_cq_events,   create_srq,          destroy_srq,
                                     create_qp,       modify_qp,           destroy_qp,
                                     create_ah,       destroy_ah};

/// WEFTDEV_VERBS_SEED: the seed of a fabric that the program's network over verbs uses from the start.
[[maybe_unused]] const bool is_installed = [] {
  const char* const seed = std::getenv("WEFTDEV_VERBS_SEED");
  if (seed == nullptr) return false;
  Faults faults;
  faults.seed = std::strtoull(seed, nullptr, 10);
  if (faults.seed != 0) {
    faults.refuse_sends = 7;
    faults.lose_datagrams = 5;
    faults.double_datagrams = 3;
    faults.no_receiver = 11;
  }
  Fabric::instance().set(faults);
  install();
  return true;
}();

}  // namespace

void install() { network::ibv::use_verbs(kTable); }

}  // namespace weft::test::verbs
