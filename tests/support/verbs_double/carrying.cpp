// How the fabric carries out messages, datagrams and accesses.
#include "support/verbs_double/fabric.hpp"

#include <cstring>

namespace weft::test::verbs {

namespace {

constexpr std::size_t kRouteHeader = 40;  // in front of what a datagram brings

}  // namespace

QueuePair* Fabric::peer_of(const QueuePair& from) const {
  const auto found = pairs_.find(from.peer);
  return found != pairs_.end() && found->second->state != IBV_QPS_ERR ? found->second : nullptr;
}

bool Fabric::covers(std::uint32_t key, std::uint64_t address, std::size_t size, int access,
                    const ibv_pd* domain) const {
  const auto found = registrations_.find(key);
  if (found == registrations_.end()) return false;
  const ibv_mr& registration = *found->second.registration;
  const auto begin = reinterpret_cast<std::uint64_t>(registration.addr);
  return registration.pd == domain && (found->second.access & access) == access && address >= begin &&
         size <= registration.length && address - begin <= registration.length - size;
}

bool Fabric::gather(const QueuePair& from, const Send& send, std::vector<std::byte>& bytes) const {
  bytes = send.inlined;
  if ((send.request.send_flags & IBV_SEND_INLINE) != 0) return true;
  for (const ibv_sge& piece : send.pieces) {
    if (!covers(piece.lkey, piece.addr, piece.length, 0, from.pd)) return false;
    bytes.insert(bytes.end(), at(piece.addr), at(piece.addr) + piece.length);
  }
  return true;
}

void Fabric::carry_all() {
  for (QueuePair* const pair : std::vector<QueuePair*>(busy_.begin(), busy_.end())) carry(*pair);
}

void Fabric::carry(QueuePair& from) {
  while (!from.sends.empty() && carry_first(from) == Carried::yes) {
  }
  if (from.sends.empty()) busy_.erase(&from);
}

Fabric::Carried Fabric::carry_first(QueuePair& from) {
  if (from.state == IBV_QPS_ERR) {
    fail(from);
    return Carried::yes;
  }
  const Send& first = from.sends.front();
  Carried carried = Carried::yes;
  if (from.qp_type == IBV_QPT_UD && (from.state == IBV_QPS_SQE || faults_.fail_datagrams != 0)) {
    complete_send(from, first, from.state == IBV_QPS_SQE ? IBV_WC_WR_FLUSH_ERR : IBV_WC_LOC_QP_OP_ERR);
    if (faults_.fail_datagrams != 0) --faults_.fail_datagrams;
    from.state = IBV_QPS_SQE;
  } else if (from.qp_type == IBV_QPT_UD) {
    send_datagram(from, first);
  } else if (faults_.fail_sends != 0 || peer_of(from) == nullptr || peer_of(from)->peer != from.qp_num) {
    if (faults_.fail_sends != 0) --faults_.fail_sends;
    complete_send(from, first, IBV_WC_RETRY_EXC_ERR);
    from.state = IBV_QPS_ERR;
  } else {
    const ibv_wr_opcode opcode = first.request.opcode;
    carried = opcode == IBV_WR_SEND ? send(from, first)
              : opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP
                  ? change(from, first)
                  : access(from, first);
  }
  if (carried == Carried::yes && !from.sends.empty()) from.sends.pop_front();
  return carried;
}

Fabric::Carried Fabric::send(QueuePair& from, const Send& send) {
  QueuePair& to = *peer_of(from);
  auto& queue = static_cast<ReceiveQueue&>(*to.srq);
  if (to.state < IBV_QPS_RTR || queue.receives.empty() || is_turn(faults_.no_receiver, turns_.messages))
    return Carried::later;
  std::vector<std::byte> bytes;
  if (!gather(from, send, bytes)) {
    complete_send(from, send, IBV_WC_LOC_PROT_ERR);
    from.state = IBV_QPS_ERR;
    return Carried::yes;
  }
  ++carried_;
  const Receive receive = queue.receives.front();
  queue.receives.pop_front();
  const bool fits = faults_.too_long == 0 && bytes.size() <= receive.piece.length;
  if (faults_.too_long != 0) --faults_.too_long;
  const bool may_write =
      covers(receive.piece.lkey, receive.piece.addr, receive.piece.length, IBV_ACCESS_LOCAL_WRITE, to.pd);
  ibv_wc entry = entry_of(to, receive.id, IBV_WC_RECV,
                          !may_write ? IBV_WC_LOC_PROT_ERR
                          : fits     ? IBV_WC_SUCCESS
                                     : IBV_WC_LOC_LEN_ERR);
  entry.byte_len = static_cast<std::uint32_t>(bytes.size());
  if (entry.status == IBV_WC_SUCCESS && !bytes.empty())
    std::memcpy(at(receive.piece.addr), bytes.data(), bytes.size());
  complete(to.recv_cq, entry);
  complete_send(from, send, entry.status == IBV_WC_SUCCESS ? IBV_WC_SUCCESS : IBV_WC_REM_INV_REQ_ERR);
  if (entry.status != IBV_WC_SUCCESS) to.state = from.state = IBV_QPS_ERR;
  return Carried::yes;
}

bool Fabric::deliver_datagram(QueuePair& to, std::span<const std::byte> payload) {
  const std::size_t size = kRouteHeader + payload.size();
  if (to.receives.empty() || to.receives.front().piece.length < size) return false;
  const Receive receive = to.receives.front();
  to.receives.pop_front();
  std::memset(at(receive.piece.addr), 0, kRouteHeader);
  std::memcpy(at(receive.piece.addr) + kRouteHeader, payload.data(), payload.size());
  ibv_wc entry = entry_of(to, receive.id, IBV_WC_RECV, IBV_WC_SUCCESS);
  entry.byte_len = static_cast<std::uint32_t>(size);
  complete(to.recv_cq, entry);
  return true;
}

void Fabric::bring(std::span<const std::byte> datagram) {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, pair] : pairs_)
    if (pair->qp_type == IBV_QPT_UD) deliver_datagram(*pair, datagram);
}

void Fabric::send_datagram(QueuePair& from, const Send& send) {
  std::vector<std::byte> payload;
  const bool is_known = gather(from, send, payload);
  const auto found = pairs_.find(send.request.wr.ud.remote_qpn);
  const bool is_lost = is_turn(faults_.lose_datagrams, turns_.lost) || !is_known || found == pairs_.end() ||
                       found->second->key != send.request.wr.ud.remote_qkey;
  const int copies = is_turn(faults_.double_datagrams, turns_.doubled) ? 2 : 1;
  for (int copy = 0; copy < copies && !is_lost; ++copy)
    if (!deliver_datagram(*found->second, payload)) break;
  complete_send(from, send, is_known ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR);
}

/// Reads and writes of the peer's memory. The immediate of a write takes a receive.
Fabric::Carried Fabric::access(QueuePair& from, const Send& send) {
  QueuePair& to = *peer_of(from);
  auto& queue = static_cast<ReceiveQueue&>(*to.srq);
  const bool is_read = send.request.opcode == IBV_WR_RDMA_READ;
  const bool has_immediate = send.request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  if (to.state < IBV_QPS_RTR) return Carried::later;
  if (has_immediate && (queue.receives.empty() || is_turn(faults_.no_receiver, turns_.messages)))
    return Carried::later;
  const ibv_sge& piece = send.pieces.front();
  const auto& remote = send.request.wr.rdma;
  std::vector<std::byte> bytes;
  ibv_wc_status status = IBV_WC_SUCCESS;
  if (is_read ? !covers(piece.lkey, piece.addr, piece.length, IBV_ACCESS_LOCAL_WRITE, from.pd)
              : !gather(from, send, bytes))
    status = IBV_WC_LOC_PROT_ERR;
  else if (!covers(remote.rkey, remote.remote_addr, is_read ? piece.length : bytes.size(),
                   is_read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE, to.pd))
    status = IBV_WC_REM_ACCESS_ERR;
  if (status == IBV_WC_SUCCESS && is_read)
    std::memcpy(at(piece.addr), at(remote.remote_addr), piece.length);
  else if (status == IBV_WC_SUCCESS && !bytes.empty())
    std::memcpy(at(remote.remote_addr), bytes.data(), bytes.size());
  if (status == IBV_WC_SUCCESS && has_immediate) {
    ibv_wc entry = entry_of(to, queue.receives.front().id, IBV_WC_RECV_RDMA_WITH_IMM, status);
    queue.receives.pop_front();
    entry.wc_flags = IBV_WC_WITH_IMM;
    entry.imm_data = send.request.imm_data;
    entry.byte_len = static_cast<std::uint32_t>(bytes.size());
    complete(to.recv_cq, entry);
  }
  end_access(from, to, send, status);
  return Carried::yes;
}

/// Atomic operations on the peer's memory, one after the other.
Fabric::Carried Fabric::change(QueuePair& from, const Send& send) {
  QueuePair& to = *peer_of(from);
  if (to.state < IBV_QPS_RTR) return Carried::later;
  const ibv_sge& piece = send.pieces.front();
  const auto& atomic = send.request.wr.atomic;
  ibv_wc_status status = IBV_WC_SUCCESS;
  std::uint64_t old = 0;
  if (piece.length != sizeof old ||
      !covers(piece.lkey, piece.addr, piece.length, IBV_ACCESS_LOCAL_WRITE, from.pd))
    status = IBV_WC_LOC_PROT_ERR;
  else if (atomic.remote_addr % sizeof old != 0)
    status = IBV_WC_REM_INV_REQ_ERR;
  else if (!covers(atomic.rkey, atomic.remote_addr, sizeof old, IBV_ACCESS_REMOTE_ATOMIC, to.pd))
    status = IBV_WC_REM_ACCESS_ERR;
  if (status == IBV_WC_SUCCESS) {
    std::memcpy(&old, at(atomic.remote_addr), sizeof old);
    const bool is_add = send.request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    const std::uint64_t now = is_add                      ? old + atomic.compare_add
                              : old == atomic.compare_add ? atomic.swap
                                                          : old;
    std::memcpy(at(atomic.remote_addr), &now, sizeof now);
    std::memcpy(at(piece.addr), &old, sizeof old);
  }
  end_access(from, to, send, status);
  return Carried::yes;
}

/// A device that refuses an access stops the queue pairs at both ends.
void Fabric::end_access(QueuePair& from, QueuePair& to, const Send& send, ibv_wc_status status) {
  if (status != IBV_WC_SUCCESS) from.state = IBV_QPS_ERR;
  if (status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR) {
    to.state = IBV_QPS_ERR;
    add_event(IBV_EVENT_QP_ACCESS_ERR, to.context, &to);
  }
  complete_send(from, send, status);
}

}  // namespace weft::test::verbs
