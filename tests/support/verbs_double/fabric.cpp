#include "support/verbs_double/fabric.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weft::test::verbs {

namespace {

constexpr std::size_t kRouteHeader = 40;  // in front of what a datagram brings

void ring(int descriptor) {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(descriptor, &one, sizeof one));
}

ibv_wc entry_of(const QueuePair& pair, std::uint64_t id, ibv_wc_opcode opcode, ibv_wc_status status) {
  ibv_wc entry{};
  entry.wr_id = id;
  entry.status = status;
  entry.opcode = opcode;
  entry.qp_num = pair.qp_num;
  return entry;
}

ibv_wc_opcode opcode_of(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_WC_RDMA_WRITE;
    default:
      return IBV_WC_SEND;
  }
}

std::byte* at(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

}  // namespace

Fabric& Fabric::instance() {
  static Fabric fabric;
  return fabric;
}

void Fabric::set(const Faults& faults) {
  const std::lock_guard lock(mutex_);
  faults_ = faults;
  random_.seed(static_cast<std::minstd_rand::result_type>(faults.seed));
}

bool Fabric::refuses(std::uint32_t Faults::*objects) {
  const std::lock_guard lock(mutex_);
  if (faults_.*objects == 0) return false;
  --(faults_.*objects);
  errno = ENOMEM;
  return true;
}

void Fabric::add(QueuePair& pair) {
  const std::lock_guard lock(mutex_);
  pair.qp_num = next_pair_++;
  pairs_[pair.qp_num] = &pair;
}

void Fabric::remove(QueuePair& pair) {
  const std::lock_guard lock(mutex_);
  pairs_.erase(pair.qp_num);
  busy_.erase(&pair);
}

void Fabric::add(ibv_mr& registration, int access) {
  const std::lock_guard lock(mutex_);
  registration.lkey = registration.rkey = next_key_++;
  registrations_[registration.lkey] = {&registration, access};
}

void Fabric::remove(ibv_mr& registration) {
  const std::lock_guard lock(mutex_);
  registrations_.erase(registration.lkey);
}

void Fabric::open(ibv_context& context) {
  const std::lock_guard lock(mutex_);
  events_[&context];
}

void Fabric::close(ibv_context& context) {
  const std::lock_guard lock(mutex_);
  events_.erase(&context);
}

void Fabric::raise(ibv_event_type type, void* pair_context) {
  const std::lock_guard lock(mutex_);
  if (pair_context == nullptr) {
    for (const auto& [context, events] : events_) add_event(type, context, nullptr);
    return;
  }
  for (const auto& [number, pair] : pairs_)
    if (pair->qp_context == pair_context) add_event(type, pair->context, pair);
}

void Fabric::add_event(ibv_event_type type, ibv_context* context, ibv_qp* pair) {
  ibv_async_event event{};
  event.event_type = type;
  event.element.qp = pair;
  events_[context].push_back(event);
  ring(context->async_fd);
}

bool Fabric::take_event(ibv_context& context, ibv_async_event& event) {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  if (::read(context.async_fd, &count, sizeof count) != sizeof count) return false;
  event = events_[&context].front();
  events_[&context].pop_front();
  return true;
}

int Fabric::modify(QueuePair& pair, const ibv_qp_attr& attributes, int which) {
  const std::lock_guard lock(mutex_);
  if ((which & IBV_QP_DEST_QPN) != 0) pair.peer = attributes.dest_qp_num;
  if ((which & IBV_QP_QKEY) != 0) pair.key = attributes.qkey;
  if ((which & IBV_QP_STATE) == 0) return 0;
  if (attributes.qp_state == IBV_QPS_ERR)
    fail(pair);
  else
    pair.state = attributes.qp_state;
  carry_all();
  return 0;
}

int Fabric::post_send(QueuePair& from, ibv_send_wr* request, ibv_send_wr** refused) {
  const Visit visit(from, met_);
  const std::lock_guard lock(mutex_);
  for (; request != nullptr; request = request->next) {
    *refused = request;
    if (from.state < IBV_QPS_RTS) return EINVAL;
    if (from.unretired == from.limits.max_send_wr) return ENOMEM;
    if (from.qp_type == IBV_QPT_RC && is_turn(faults_.refuse_sends, posts_)) return ENOMEM;
    if (static_cast<std::uint32_t>(request->num_sge) > from.limits.max_send_sge) return EINVAL;
    Send send{*request, {request->sg_list, request->sg_list + request->num_sge}, {}};
    if ((request->send_flags & IBV_SEND_INLINE) != 0) {
      for (const ibv_sge& piece : send.pieces)
        send.inlined.insert(send.inlined.end(), at(piece.addr), at(piece.addr) + piece.length);
      if (send.inlined.size() > from.limits.max_inline_data) return EINVAL;
    }
    ++from.unretired;
    from.sends.push_back(std::move(send));
  }
  busy_.insert(&from);
  carry(from);
  return 0;
}

int Fabric::post_receive(ReceiveQueue& queue, ibv_recv_wr* request, ibv_recv_wr** refused) {
  const Visit visit(queue, met_);
  const std::lock_guard lock(mutex_);
  for (; request != nullptr; request = request->next) {
    *refused = request;
    if (queue.receives.size() == queue.most) {
      carry_all();
      return ENOMEM;
    }
    queue.receives.push_back({request->wr_id, request->sg_list[0]});
  }
  carry_all();
  return 0;
}

int Fabric::post_receive(QueuePair& of, ibv_recv_wr* request, ibv_recv_wr** refused) {
  const std::lock_guard lock(mutex_);
  *refused = request;
  if (of.receives.size() == of.limits.max_recv_wr) return ENOMEM;
  of.receives.push_back({request->wr_id, request->sg_list[0]});
  return 0;
}

void Fabric::arm(CompletionQueue& queue) {
  const std::lock_guard lock(mutex_);
  queue.is_armed = true;
}

int Fabric::poll(CompletionQueue& queue, std::span<ibv_wc> entries) {
  const Visit visit(queue, met_);
  const std::lock_guard lock(mutex_);
  carry_all();
  if (faults_.hides_completions) return 0;
  std::size_t count = std::min(entries.size(), queue.entries.size());
  if (faults_.seed != 0 && count > 1) count = 1 + random_() % count;
  for (ibv_wc& entry : entries.first(count)) {
    // Those of one queue pair keep their order.
    std::size_t place = faults_.seed == 0 ? 0 : random_() % queue.entries.size();
    const std::uint32_t pair = queue.entries[place].qp_num;
    place = 0;
    while (queue.entries[place].qp_num != pair) ++place;
    entry = queue.entries[place];
    queue.entries.erase(queue.entries.begin() + static_cast<std::ptrdiff_t>(place));
    const auto found = pairs_.find(pair);
    if (found == pairs_.end() || (entry.opcode & IBV_WC_RECV) != 0) continue;
    found->second->unretired -= found->second->retiring.front();
    found->second->retiring.pop_front();
  }
  return static_cast<int>(count);
}

void Fabric::complete(ibv_cq* queue, const ibv_wc& entry) {
  auto& of = static_cast<CompletionQueue&>(*queue);
  of.entries.push_back(entry);
  if (!of.is_armed) return;
  of.is_armed = false;
  ring(of.channel->fd);
}

void Fabric::complete_send(QueuePair& from, const Send& send, ibv_wc_status status) {
  ++from.unsignalled;
  if (status != IBV_WC_SUCCESS) ++failed_;
  if (status == IBV_WC_SUCCESS && (send.request.send_flags & IBV_SEND_SIGNALED) == 0) return;
  from.retiring.push_back(from.unsignalled);
  from.unsignalled = 0;
  complete(from.send_cq, entry_of(from, send.request.wr_id, opcode_of(send.request.opcode), status));
}

void Fabric::fail(QueuePair& pair) {
  pair.state = IBV_QPS_ERR;
  for (; !pair.sends.empty(); pair.sends.pop_front())
    complete_send(pair, pair.sends.front(), IBV_WC_WR_FLUSH_ERR);
  for (; !pair.receives.empty(); pair.receives.pop_front())
    complete(pair.recv_cq, entry_of(pair, pair.receives.front().id, IBV_WC_RECV, IBV_WC_WR_FLUSH_ERR));
}

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
    carried = first.request.opcode == IBV_WR_SEND ? send(from, first) : access(from, first);
  }
  if (carried == Carried::yes && !from.sends.empty()) from.sends.pop_front();
  return carried;
}

Fabric::Carried Fabric::send(QueuePair& from, const Send& send) {
  QueuePair& to = *peer_of(from);
  auto& queue = static_cast<ReceiveQueue&>(*to.srq);
  if (to.state < IBV_QPS_RTR || queue.receives.empty() || is_turn(faults_.no_receiver, messages_))
    return Carried::later;
  std::vector<std::byte> bytes;
  if (!gather(from, send, bytes)) {
    complete_send(from, send, IBV_WC_LOC_PROT_ERR);
    from.state = IBV_QPS_ERR;
    return Carried::yes;
  }
  const Receive receive = queue.receives.front();
  queue.receives.pop_front();
  const bool fits = bytes.size() <= receive.piece.length;
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

void Fabric::send_datagram(QueuePair& from, const Send& send) {
  std::vector<std::byte> bytes(kRouteHeader);
  std::vector<std::byte> payload;
  const bool is_known = gather(from, send, payload);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  const auto found = pairs_.find(send.request.wr.ud.remote_qpn);
  const bool is_lost = is_turn(faults_.lose_datagrams, datagrams_) || !is_known || found == pairs_.end() ||
                       found->second->key != send.request.wr.ud.remote_qkey;
  const int copies = is_turn(faults_.double_datagrams, datagrams_) ? 2 : 1;
  for (int copy = 0; copy < copies && !is_lost; ++copy) {
    QueuePair& to = *found->second;
    if (to.receives.empty() || to.receives.front().piece.length < bytes.size()) break;
    const Receive receive = to.receives.front();
    to.receives.pop_front();
    std::memcpy(at(receive.piece.addr), bytes.data(), bytes.size());
    ibv_wc entry = entry_of(to, receive.id, IBV_WC_RECV, IBV_WC_SUCCESS);
    entry.byte_len = static_cast<std::uint32_t>(bytes.size());
    complete(to.recv_cq, entry);
  }
  complete_send(from, send, is_known ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR);
}

/// Reads and writes of the peer's memory. The immediate of a write takes a receive.
Fabric::Carried Fabric::access(QueuePair& from, const Send& send) {
  QueuePair& to = *peer_of(from);
  auto& queue = static_cast<ReceiveQueue&>(*to.srq);
  const bool is_read = send.request.opcode == IBV_WR_RDMA_READ;
  const bool has_immediate = send.request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  if (to.state < IBV_QPS_RTR) return Carried::later;
  if (has_immediate && (queue.receives.empty() || is_turn(faults_.no_receiver, messages_)))
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
  if (status != IBV_WC_SUCCESS)
    from.state = IBV_QPS_ERR;
  else if (is_read)
    std::memcpy(at(piece.addr), at(remote.remote_addr), piece.length);
  else if (!bytes.empty())
    std::memcpy(at(remote.remote_addr), bytes.data(), bytes.size());
  if (status == IBV_WC_REM_ACCESS_ERR) {
    to.state = IBV_QPS_ERR;
    add_event(IBV_EVENT_QP_ACCESS_ERR, to.context, &to);
  }
  if (status == IBV_WC_SUCCESS && has_immediate) {
    ibv_wc entry = entry_of(to, queue.receives.front().id, IBV_WC_RECV_RDMA_WITH_IMM, status);
    queue.receives.pop_front();
    entry.wc_flags = IBV_WC_WITH_IMM;
    entry.imm_data = send.request.imm_data;
    entry.byte_len = static_cast<std::uint32_t>(bytes.size());
    complete(to.recv_cq, entry);
  }
  complete_send(from, send, status);
  return Carried::yes;
}

}  // namespace weft::test::verbs
