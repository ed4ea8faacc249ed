#include "network/ibv/connection/introductions.hpp"

#include "base/clock.hpp"
#include "network/ibv/memory/work_id.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace weft::network::ibv {

namespace {

/// Keys with the highest bit are not a program's to choose.
std::uint32_t make_queue_key() noexcept {
  const auto now = static_cast<std::uint64_t>(base::now_ns());
  return static_cast<std::uint32_t>(now * 0x9e3779b97f4a7c15 >> 33) | 1;
}

void modify(ibv_qp& queue_pair, ibv_qp_attr& attributes, int which) {
  if (const int result = verbs().modify_qp(&queue_pair, &attributes, which); result != 0)
    throw Error(ErrorClass::network,
                "ibv: a queue pair for datagrams cannot be made ready: " + error_text(result));
}

}  // namespace

Introductions::Introductions(const RankResources& context, const QueuePairPlan& plan, std::uint32_t index,
                             Connections& connections, IbvReceiveBuffers& buffers)
    : context_(context),
      plan_(plan),
      index_(static_cast<std::uint8_t>(index)),
      queue_key_(make_queue_key()),
      connections_(connections),
      buffers_(buffers),
      slots_(std::make_unique<Slot[]>(kSlots)),
      registration_(context.device.register_memory(
          {reinterpret_cast<std::byte*>(slots_.get()), kSlots * sizeof(Slot)}, kLocalAccess)) {
  make_queue_pair();
  for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
    post_receive(slot);
    free_slots_.push_back(slot);
  }
}

void Introductions::make_queue_pair() {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = &plan_.completions;
  wanted.recv_cq = &plan_.completions;
  wanted.cap.max_send_wr = kSlots;
  wanted.cap.max_recv_wr = kSlots;
  wanted.cap.max_send_sge = 1;
  wanted.cap.max_recv_sge = 1;
  wanted.qp_type = IBV_QPT_UD;
  datagrams_.reset(verbs().create_qp(&plan_.device.domain(), &wanted));
  if (datagrams_ == nullptr)
    throw Error(ErrorClass::network,
                "ibv: the device has no queue pair for datagrams (" + error_text(errno) + ")");
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = plan_.device.port_number();
  attributes.qkey = queue_key_;
  modify(*datagrams_, attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
  attributes.qp_state = IBV_QPS_RTR;
  modify(*datagrams_, attributes, IBV_QP_STATE);
  attributes.qp_state = IBV_QPS_RTS;
  modify(*datagrams_, attributes, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

Address Introductions::address() const noexcept {
  Address address{};
  const ibv_port_attr& port = plan_.device.port();
  std::memcpy(address.gid.data(), plan_.device.gid().gid.raw, address.gid.size());
  address.queue_pair = datagrams_->qp_num;
  address.queue_key = queue_key_;
  address.lid = port.lid;
  address.mtu = static_cast<std::uint8_t>(port.active_mtu);
  address.reads = reads_of(plan_.device);
  return address;
}

void Introductions::post_receive(std::uint32_t slot) noexcept {
  ibv_sge piece{reinterpret_cast<std::uint64_t>(slots_[slot].received),
                static_cast<std::uint32_t>(sizeof slots_[slot].received), registration_->lkey};
  ibv_recv_wr request{id_of(Origin::card_received, slot), nullptr, &piece, 1};
  ibv_recv_wr* refused = nullptr;
  if (::ibv_post_recv(datagrams_.get(), &request, &refused) != 0)
    context_.log.warn("there is one receive buffer less for greetings");
}

void Introductions::begin(Connection& connection) {
  ibv::make_queue_pair(connection, plan_);
  if (connection.purpose != Purpose::messages) connections_.note_queue_pair(connection);
  if (connection.rank == context_.peers.rank() && connection.device == index_) {
    connect_queue_pair(connection, plan_, connection.queue_pair->qp_num, connection.first_packet);
    connection.is_open = true;
    return;
  }
  ibv_ah_attr route = route_to(plan_.device, connection.address);
  connection.route.reset(verbs().create_ah(&plan_.device.domain(), &route));
  if (connection.route == nullptr)
    throw Error(ErrorClass::network,
                "ibv: there is no way to " + std::to_string(connection.rank) + ": " + error_text(errno));
  waiting_.push_back(&connection);
  are_under_way_.store(true, std::memory_order_relaxed);
}

Connection& Introductions::begin_accesses(Connection& messages, Purpose purpose, std::uint8_t round) {
  Connection*& newest = purpose == Purpose::accesses ? messages.accesses : messages.accessed;
  if (purpose == Purpose::accessed && newest == nullptr) make_room_for_immediates();
  Connection& made = connections_.add_for_accesses(messages, purpose, round);
  try {
    begin(made);
  } catch (...) {
    connections_.remove_last();
    throw;
  }
  Connection* const before = std::exchange(newest, &made);
  if (before != nullptr) close_queue_pair(*before);
  return made;
}

/// Without it the device of the peer has to try again more often.
void Introductions::make_room_for_immediates() noexcept try {
  buffers_.grow(kForImmediates, 0);
  buffers_.post_to(plan_.receives);
} catch (const std::exception& error) {
  context_.log.info([&] { return "puts with signal may have to wait: " + std::string(error.what()); });
}

void Introductions::send_card(Connection& connection) noexcept {
  connection.next_card = base::now_ns() + kRepeatAfter;
  if (free_slots_.empty()) return;
  const std::uint32_t slot = free_slots_.back();
  Card& card = slots_[slot].sent;
  const bool is_ready = connection.peer_queue_pair != 0;
  card = {kCardMagic,
          session::kWireVersion,
          static_cast<std::uint32_t>(context_.peers.rank()),
          index_,
          is_ready,
          connection.is_open,
          connection.round,
          connection.queue_pair->qp_num,
          connection.first_packet,
          connection.purpose,
          {},
          {}};
  context_.peers.job_id().copy(card.job_id.data(), card.job_id.size() - 1);
  ibv_sge piece{reinterpret_cast<std::uint64_t>(&card), sizeof card, registration_->lkey};
  ibv_send_wr request{};
  request.wr_id = id_of(Origin::card_sent, slot);
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.ud = {connection.route.get(), connection.address.queue_pair, connection.address.queue_key};
  ibv_send_wr* refused = nullptr;
  if (::ibv_post_send(datagrams_.get(), &request, &refused) == 0) free_slots_.pop_back();
}

void Introductions::repeat(session::SessionDevice& device) noexcept {
  if (waiting_.empty()) return;
  const std::int64_t now = base::now_ns();
  std::erase_if(waiting_, [&](Connection* connection) {
    if (connection->is_open || connection->is_closed) return true;
    if (connection->next_card > now) return false;
    // Notices a peer that has ended before it was reached.
    if (context_.peers.has_left(connection->rank)) return true;
    send_card(*connection);
    return false;
  });
  if (!waiting_.empty()) return;
  are_under_way_.store(false, std::memory_order_relaxed);
  device.serve_links_soon();
}

void Introductions::on_completion(const ibv_wc& completion, session::SessionDevice& device) noexcept {
  const auto slot = static_cast<std::uint32_t>(rest_of(completion.wr_id));
  if (origin_of(completion.wr_id) == Origin::card_sent) {
    free_slots_.push_back(slot);
    return on_card_sent(completion.status);
  }
  Card card{};
  const bool is_card =
      completion.status == IBV_WC_SUCCESS && completion.byte_len == sizeof slots_[slot].received;
  if (is_card) std::memcpy(&card, slots_[slot].received + kRouteHeader, sizeof card);
  if (completion.status != IBV_WC_WR_FLUSH_ERR) post_receive(slot);
  if (is_card && is_from_this_job(card)) on_card(card, device);
}

/// A card that is lost is sent again. After an error the queue pair sends nothing until it is made ready
/// anew.
void Introductions::on_card_sent(ibv_wc_status status) noexcept try {
  if (status == IBV_WC_SUCCESS || status == IBV_WC_WR_FLUSH_ERR) return;
  context_.log.warn("a greeting was not sent and is tried again: " +
                    std::string(verbs().wc_status_str(status)));
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.cur_qp_state = IBV_QPS_SQE;
  modify(*datagrams_, attributes, IBV_QP_STATE | IBV_QP_CUR_STATE);
} catch (const Error& error) {
  context_.log.error(error.what());
}

/// Strangers are ignored: the numbers of queue pairs are used again by programs that come later.
bool Introductions::is_from_this_job(const Card& card) const noexcept {
  const std::string_view job(card.job_id.data(), ::strnlen(card.job_id.data(), card.job_id.size()));
  return card.magic == kCardMagic && card.version == session::kWireVersion &&
         card.rank < static_cast<std::uint32_t>(context_.peers.size()) && card.queue_pair != 0 &&
         card.purpose <= Purpose::accessed && (card.purpose == Purpose::messages) == (card.round == 0) &&
         job == context_.peers.job_id().substr(0, card.job_id.size() - 1);
}

Connection* Introductions::connection_for(const Card& card, session::SessionDevice& device) noexcept {
  const int rank = static_cast<int>(card.rank);
  if (Connection* const known = connections_.find(rank, card.device); known != nullptr)
    return card.purpose == Purpose::messages ? known : accesses_for(card, *known);
  // Not there yet for this rank: the card will come again.
  const auto address = context_.peers.find(rank, card.device);
  if (!address.has_value()) return nullptr;
  session::Link* const link = device.contacts().contact(rank, card.device, *address);
  return link != nullptr && card.purpose == Purpose::messages ? &connections_.of(*link) : nullptr;
}

/// Cards of rounds that are over are ignored; the first of a new one ends the round before. Who accesses
/// begins a round.
Connection* Introductions::accesses_for(const Card& card, Connection& messages) noexcept try {
  if (messages.is_closed) return nullptr;
  const Purpose purpose = at_other_end(card.purpose);
  if (purpose == Purpose::accesses ||
      (messages.accessed != nullptr && messages.accessed->round >= card.round))
    return connections_.find(messages.rank, messages.device, purpose, card.round);
  return &begin_accesses(messages, purpose, card.round);
} catch (const std::exception& error) {  // the peer would wait for ever
  messages.is_closed = true;
  context_.peers.mark_left(messages.rank, error.what());
  return nullptr;
}

void Introductions::on_card(const Card& card, session::SessionDevice& device) noexcept {
  Connection* const connection = connection_for(card, device);
  if (connection == nullptr || connection->is_closed) return;
  try {
    learn(*connection, card, device);
  } catch (const Error& error) {
    connection->is_closed = true;
    context_.peers.mark_left(connection->rank, error.what());
  }
}

void Introductions::learn(Connection& connection, const Card& card, session::SessionDevice& device) {
  if (connection.peer_queue_pair == 0)
    connect_queue_pair(connection, plan_, card.queue_pair, card.first_packet);
  if (connection.peer_queue_pair != card.queue_pair) return;
  if (card.is_ready != 0 && !connection.is_open) {
    connection.is_open = true;
    device.serve_links_soon();
    context_.log.debug([&] {
      return "device " + std::to_string(index_) + " is connected with device " +
             std::to_string(connection.device) + " of rank " + std::to_string(connection.rank);
    });
  }
  if (card.is_done == 0) send_card(connection);
}

}  // namespace weft::network::ibv
