#include "network/ibv/connection/reliable_connection.hpp"

#include "base/clock.hpp"
#include "network/ibv/connection/device_events.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <cerrno>
#include <string>

namespace weft::network::ibv {

namespace {

constexpr std::uint32_t kPieces = 2;        // of memory, of one message
constexpr std::uint8_t kMostReads = 16;     // under way
constexpr std::uint8_t kForEver = 7;        // a peer without a free receive buffer is tried again
constexpr std::uint8_t kRetries = 7;        // of a packet that is not acknowledged
constexpr std::uint8_t kReceiverWait = 12;  // 0.64 ms until such a peer is tried again
constexpr std::uint8_t kHops = 64;
constexpr std::uint8_t kShortestTimeout = 14;  // 67 ms
constexpr std::uint8_t kLongestTimeout = 17;   // 0.54 s: a lost packet holds up those behind it so long
constexpr double kTimeoutUnit = 4.096e-6;      // seconds

void modify(Connection& connection, ibv_qp_attr& attributes, int which, const char* state) {
  const int result = verbs().modify_qp(connection.queue_pair.get(), &attributes, which);
  if (result != 0)
    throw Error(ErrorClass::network, "ibv: a queue pair cannot be made ready to " + std::string(state) +
                                         ": " + error_text(result));
}

void begin(Connection& connection, const Device& device) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = device.port_number();
  attributes.qp_access_flags = static_cast<unsigned>(device.remote_access());
  modify(connection, attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
         "be connected");
}

}  // namespace

std::uint8_t reads_of(const Device& device) noexcept {
  const ibv_device_attr& limits = device.limits();
  return static_cast<std::uint8_t>(
      std::clamp(std::min(limits.max_qp_rd_atom, limits.max_qp_init_rd_atom), 1, int{kMostReads}));
}

std::uint8_t ack_timeout_of(double seconds) noexcept {
  std::uint8_t exponent = kShortestTimeout;
  while (exponent < kLongestTimeout &&
         kTimeoutUnit * static_cast<double>(std::uint32_t{2} << exponent) * (kRetries + 1) <= seconds)
    ++exponent;
  return exponent;
}

ibv_ah_attr route_to(const Device& device, const Address& address) noexcept {
  ibv_ah_attr route{};
  route.port_num = device.port_number();
  route.dlid = address.lid;
  if (device.is_ethernet()) {
    route.is_global = 1;
    std::copy(address.gid.begin(), address.gid.end(), route.grh.dgid.raw);
    route.grh.sgid_index = static_cast<std::uint8_t>(device.gid().gid_index);
    route.grh.hop_limit = kHops;
  }
  return route;
}

void make_queue_pair(Connection& connection, const QueuePairPlan& plan) {
  ibv_qp_init_attr wanted{};
  wanted.qp_context = connection.purpose == Purpose::messages ? DeviceEvents::mark_of(connection.rank)
                                                              : DeviceEvents::mark_of_accesses();
  wanted.send_cq = &plan.completions;
  wanted.recv_cq = &plan.completions;
  wanted.srq = &plan.receives;
  wanted.cap.max_send_wr = connection.purpose == Purpose::accessed ? 1 : SendQueue::kDepth;
  wanted.cap.max_send_sge = kPieces;
  wanted.qp_type = IBV_QPT_RC;
  if (plan.has_thread_domains_of_their_own) connection.thread_domain = ThreadDomain(plan.device);
  const ThreadDomain& threads = connection.thread_domain ? connection.thread_domain : plan.thread_domain;
  // Devices do not tell how much they inline.
  for (const std::uint32_t bytes : {kInlineBytes, kInlineBytes / 4, std::uint32_t{0}}) {
    wanted.cap.max_inline_data = bytes;
    connection.queue_pair.reset(verbs().create_qp(&threads.domain_on(plan.device), &wanted));
    if (connection.queue_pair != nullptr) break;
  }
  if (connection.queue_pair == nullptr)
    throw Error(ErrorClass::network, "ibv: the device has no queue pair left (" + error_text(errno) + ")");
  connection.inline_bytes = std::min(wanted.cap.max_inline_data, kInlineBytes);
  connection.first_packet = static_cast<std::uint32_t>(base::now_ns() >> 10) & 0xffffff;
  begin(connection, plan.device);
}

void connect_queue_pair(Connection& connection, const QueuePairPlan& plan, std::uint32_t queue_pair,
                        std::uint32_t first_packet) {
  const std::uint8_t reads = reads_of(plan.device);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.ah_attr = route_to(plan.device, connection.address);
  attributes.path_mtu = std::min(plan.device.port().active_mtu, static_cast<ibv_mtu>(connection.address.mtu));
  attributes.dest_qp_num = queue_pair;
  attributes.rq_psn = first_packet;
  attributes.max_dest_rd_atomic = reads;
  attributes.min_rnr_timer = kReceiverWait;
  modify(connection, attributes,
         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
         "receive");
  attributes = {};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = plan.ack_timeout;
  attributes.retry_cnt = kRetries;
  attributes.rnr_retry = kForEver;
  attributes.sq_psn = connection.first_packet;
  attributes.max_rd_atomic = std::min(reads, connection.address.reads);
  modify(connection, attributes,
         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
             IBV_QP_MAX_QP_RD_ATOMIC,
         "send");
  connection.peer_queue_pair = queue_pair;
}

void close_queue_pair(Connection& connection) noexcept {
  connection.is_closed = connection.is_flushed = true;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  static_cast<void>(verbs().modify_qp(connection.queue_pair.get(), &attributes, IBV_QP_STATE));
}

}  // namespace weft::network::ibv
