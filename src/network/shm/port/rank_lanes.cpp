#include "network/shm/port/rank_lanes.hpp"

#include <string>

namespace weft::network::shm {

RankLanes::~RankLanes() {
  for (const auto& state : states_) {
    keep_if_unread(shared_, *state);
    close_lane(shared_, *state);
  }
}

SendState* RankLanes::open(const Outgoing& outgoing, const Peer& peer, SendResult& refusal) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    refusal = SendResult::lock_contended;
    return nullptr;
  }
  if (SendState* const state = find(outgoing)) return state;
  auto* row = const_cast<Row*>(rows_[row_of(outgoing)].load(std::memory_order_relaxed));
  if (row == nullptr) {
    owned_rows_.push_back(std::make_unique<Row[]>(ranks_));
    row = owned_rows_.back().get();
    rows_[row_of(outgoing)].store(row, std::memory_order_release);
  }
  states_.reserve(states_.size() + 1);
  bool is_full = false;
  auto state =
      open_lane(shared_, {&peer, outgoing.device, outgoing.traffic, 0, kManyDevices}, refusal, is_full);
  if (state == nullptr) {
    if (refusal == SendResult::no_slot) say_full(outgoing, is_full);
    return nullptr;
  }
  if (!has_said_shared_) {
    has_said_shared_ = true;
    shared_.log.info([&] {
      return "devices of this rank share a lane to device " + std::to_string(outgoing.device) + " of rank " +
             std::to_string(outgoing.peer) + ": all " + std::to_string(peer.mapping->header().lanes) +
             " lanes there are taken (attribute lanes_max), or three quarters of this rank's segment are "
             "(attribute "
             "segment_size)";
    });
  }
  states_.push_back(std::move(state));
  row[outgoing.peer].store(states_.back().get(), std::memory_order_release);
  return states_.back().get();
}

/// Logs, once, a refusal that no retry will change. Under the mutex.
void RankLanes::say_full(const Outgoing& outgoing, bool is_full) {
  if (has_said_full_) return;
  has_said_full_ = true;
  const std::string where =
      "device " + std::to_string(outgoing.device) + " of rank " + std::to_string(outgoing.peer);
  if (is_full)
    shared_.log.error("posts to " + where +
                      " are refused: there is no room for another lane in this rank's segment of " +
                      std::to_string(shared_.segment->mapping().bytes()) +
                      " bytes (attribute segment_size), of which lanes use " +
                      std::to_string(shared_.segment->used_bytes()) + "; set segment_size to twice as much");
  else
    shared_.log.error("posts to " + where +
                      " are refused: an earlier lane of this rank has not been given up there");
}

bool RankLanes::give_up(int peer) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  for (const auto& state : states_)
    if (state->peer->rank == peer && !give_up_lane(shared_, *state, false)) return false;
  return true;
}

bool RankLanes::drained() noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  for (const auto& state : states_)
    if (!state->peer->has_left() && is_awaited(shared_, *state)) return false;
  return true;
}

void RankLanes::add_unconsumed(std::map<int, Port::Unconsumed>& by_rank) {
  const std::lock_guard lock(mutex_);
  for (const auto& state : states_) shm::add_unconsumed(shared_, *state, by_rank);
}

}  // namespace weft::network::shm
