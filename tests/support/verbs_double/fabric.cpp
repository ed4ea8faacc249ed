#include "support/verbs_double/fabric.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

namespace weft::test::verbs {

namespace {

void ring(int descriptor) {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(descriptor, &one, sizeof one));
}

ibv_wc_opcode opcode_of(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_WC_FETCH_ADD;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_WC_COMP_SWAP;
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_WC_RDMA_WRITE;
    default:
      return IBV_WC_SEND;
  }
}

}  // namespace

ibv_wc entry_of(const QueuePair& pair, std::uint64_t id, ibv_wc_opcode opcode, ibv_wc_status status) {
  ibv_wc entry{};
  entry.wr_id = id;
  entry.status = status;
  entry.opcode = opcode;
  entry.qp_num = pair.qp_num;
  return entry;
}

Fabric& Fabric::instance() {
  static Fabric fabric;
  return fabric;
}

void Fabric::set(const Faults& faults) {
  const std::lock_guard lock(mutex_);
  faults_ = faults;
  turns_ = {};
  random_.seed(static_cast<std::minstd_rand::result_type>(faults.seed));
}

bool Fabric::refuses(std::uint32_t Faults::*objects) {
  const std::lock_guard lock(mutex_);
  if (faults_.*objects == 0) return false;
  --(faults_.*objects);
  errno = ENOMEM;
  return true;
}

std::uint32_t Fabric::limit(std::uint32_t Faults::*objects, std::uint32_t otherwise) {
  const std::lock_guard lock(mutex_);
  return faults_.*objects != 0 ? faults_.*objects : otherwise;
}

std::size_t Fabric::posted_receives() {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const ReceiveQueue* const queue : receive_queues_) count += queue->receives.size();
  return count;
}

bool Fabric::has_atomics() {
  const std::lock_guard lock(mutex_);
  return !faults_.has_no_atomics;
}

std::vector<std::size_t> Fabric::pairs_by_thread_domain() {
  const std::lock_guard lock(mutex_);
  std::map<const ThreadDomain*, std::size_t> counts;
  for (const auto& [number, pair] : pairs_)
    if (pair->threads != nullptr) ++counts[pair->threads];
  std::vector<std::size_t> found;
  for (const auto& [threads, count] : counts) found.push_back(count);
  std::sort(found.begin(), found.end());
  return found;
}

std::size_t Fabric::registrations() {
  const std::lock_guard lock(mutex_);
  return registrations_.size();
}

void Fabric::add(ReceiveQueue& queue) {
  const std::lock_guard lock(mutex_);
  receive_queues_.insert(&queue);
}

void Fabric::remove(ReceiveQueue& queue) {
  const std::lock_guard lock(mutex_);
  receive_queues_.erase(&queue);
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
  std::optional<Visit> in_domain;
  if (from.threads != nullptr) in_domain.emplace(*from.threads, met_);
  const std::lock_guard lock(mutex_);
  for (; request != nullptr; request = request->next) {
    *refused = request;
    if (from.state < IBV_QPS_RTS) return EINVAL;
    if (from.unretired == from.limits.max_send_wr) return ENOMEM;
    if (from.qp_type == IBV_QPT_RC && is_turn(faults_.refuse_sends, turns_.posts)) return ENOMEM;
    if (static_cast<std::uint32_t>(request->num_sge) > from.limits.max_send_sge) return EINVAL;
    Send send{*request, {request->sg_list, request->sg_list + request->num_sge}, {}};
    if ((request->send_flags & IBV_SEND_INLINE) != 0) {
      for (const ibv_sge& piece : send.pieces)
        send.inlined.insert(send.inlined.end(), at(piece.addr), at(piece.addr) + piece.length);
      if (send.inlined.size() > from.limits.max_inline_data) return EINVAL;
    }
    ++from.unretired;
    if (from.qp_type == IBV_QPT_RC) ++requests_;
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
  if (of.entries.size() == static_cast<std::size_t>(of.cqe))
    return add_event(IBV_EVENT_CQ_ERR, of.context, nullptr);
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

}  // namespace weft::test::verbs
