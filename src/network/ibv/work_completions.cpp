// Completions: received messages, work requests that have ended, and datagrams of introductions.
#include "network/ibv/ibv_endpoint.hpp"
#include "network/ibv/memory/work_id.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace weft::network::ibv {

namespace {

constexpr int kPerCall = 64;                    // completions; limits the time that a thread holds the lock
constexpr std::uint32_t kReceivesAtOnce = 16;   // messages received, from which on buffers are posted again
constexpr std::uint32_t kDrivesPerLook = 4096;  // for events, which costs a system call

}  // namespace

void IbvEndpoint::drive(session::SessionDevice& device) noexcept {
  int count = kAtATime;
  for (int seen = 0; seen < kPerCall && count == kAtATime; seen += count) count = take_completions(device);
  has_found_none_.store(count == 0, std::memory_order_relaxed);
  // Buffers that deliveries have freed may wait as long as messages come.
  if (count == 0 || unposted_ >= kReceivesAtOnce) {
    buffers_.post_to(*receives_);
    unposted_ = 0;
  }
  if (region_accesses_.are_waiting()) region_accesses_.post_again(device);
  if (++drives_ % kDrivesPerLook == 0) context_.events.look();
  introductions_.repeat(device);
}

int IbvEndpoint::take_completions(session::SessionDevice& device) noexcept {
  std::array<ibv_wc, kAtATime> entries;
  const int count = std::max(::ibv_poll_cq(completions_.get(), kAtATime, entries.data()), 0);
  for (int next = 0; next < count; ++next) on_completion(entries[static_cast<std::size_t>(next)], device);
  return count;
}

void IbvEndpoint::on_completion(const ibv_wc& completion, session::SessionDevice& device) noexcept {
  switch (origin_of(completion.wr_id)) {
    case Origin::receive:
      return on_received(completion, device);
    case Origin::send:
      return on_sent(completion, device);
    case Origin::card_received:
    case Origin::card_sent:
      return introductions_.on_completion(completion, device);
  }
}

void IbvEndpoint::on_received(const ibv_wc& completion, session::SessionDevice& device) noexcept {
  ++unposted_;
  ReceiveBuffer& buffer = received_by(completion.wr_id);
  if (completion.status != IBV_WC_SUCCESS) {
    if (completion.status == IBV_WC_LOC_LEN_ERR)
      context_.log.warn("refused a message that is longer than a packet");
    return buffers_.release(buffer);
  }
  if (completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {  // the buffer is untouched
    buffers_.release(buffer);
    // Landings are put into by queue pairs for messages, regions by those for accesses.
    const std::uint32_t immediate = ::ntohl(completion.imm_data);
    const int putter = connections_.putter_by(completion.qp_num);
    return putter < 0 ? device.landed(immediate) : device.immediate_arrived(putter, immediate);
  }
  buffer.size = std::min<std::size_t>(completion.byte_len, buffers_.size());
  device.accept(buffer);
}

void IbvEndpoint::on_sent(const ibv_wc& completion, session::SessionDevice& device) noexcept {
  Connection* const connection = connections_.at(rest_of(completion.wr_id) >> 32);
  if (connection == nullptr) return;
  const bool is_ok = completion.status == IBV_WC_SUCCESS;
  connection->sends.complete(static_cast<std::uint32_t>(completion.wr_id), [&](Work& work, bool is_last) {
    posting_.ended();
    const bool has_failed = is_last && !is_ok;
    if (work.kind == Work::Kind::region_access)
      return region_accesses_.on_completion(*connection, work.token,
                                            has_failed ? completion.status : IBV_WC_SUCCESS, device);
    if (work.kind == Work::Kind::access)
      device.fetch_completed(work.token, has_failed ? Outcome::peer_failed : Outcome::ok);
    // A network that has lost one message cannot promise to deliver the next. A lost goodbye is no
    // failure: the peer has left as well and has closed the connection.
    if (has_failed)
      posting_.lose(*connection, work.kind == Work::Kind::goodbye
                                     ? ""
                                     : "a message was not delivered: " +
                                           std::string(verbs().wc_status_str(completion.status)) +
                                           " (vendor error " + std::to_string(completion.vendor_err) + ")");
    end(work);
  });
}

}  // namespace weft::network::ibv
