// The connections of a device.
#pragma once

#include "network/ibv/connection/reliable_connection.hpp"

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace weft::network::ibv {

/// By index, and by device of the peer. Connections stay, but for one that could not be made. One thread at a
/// time.
class Connections {
 public:
  /// Throws std::bad_alloc.
  Connection& add(session::Link& link) {
    all_.push_back(std::make_unique<Connection>());
    Connection& made = *all_.back();
    made.index = static_cast<std::uint32_t>(all_.size() - 1);
    made.rank = link.rank;
    made.device = link.device;
    link.address = made.index;
    return made;
  }
  /// Another one to the same device of the peer, for accesses.
  Connection& add_for_accesses(Connection& messages, Purpose purpose, std::uint8_t round) {
    all_.push_back(std::make_unique<Connection>());
    Connection& made = *all_.back();
    made.index = static_cast<std::uint32_t>(all_.size() - 1);
    made.rank = messages.rank;
    made.device = messages.device;
    made.address = messages.address;
    made.purpose = purpose;
    made.round = round;
    made.messages = &messages;
    return made;
  }
  /// Removes the one that was added last.
  void remove_last() noexcept {
    if (all_.back()->queue_pair != nullptr) by_queue_pair_.erase(all_.back()->queue_pair->qp_num);
    all_.pop_back();
  }
  [[nodiscard]] Connection& of(const session::Link& link) const noexcept { return *all_[link.address]; }
  /// Returns nullptr when there is none of this index.
  [[nodiscard]] Connection* at(std::uint64_t index) const noexcept {
    return index < all_.size() ? all_[index].get() : nullptr;
  }
  /// Returns nullptr when there is none; only while peers are being reached.
  [[nodiscard]] Connection* find(int rank, std::uint8_t device, Purpose purpose = Purpose::messages,
                                 std::uint8_t round = 0) const noexcept {
    for (const auto& each : all_)
      if (each->rank == rank && each->device == device && each->purpose == purpose && each->round == round)
        return each.get();
    return nullptr;
  }
  /// Notes the number of the queue pair of one for accesses, by which immediates name whose they are. Throws
  /// std::bad_alloc.
  void note_queue_pair(const Connection& connection) {
    by_queue_pair_[connection.queue_pair->qp_num] = connection.rank;
  }
  /// Returns the rank that puts by the queue pair of this number here; negative when it is for messages.
  [[nodiscard]] int putter_by(std::uint32_t queue_pair) const noexcept {
    const auto found = by_queue_pair_.find(queue_pair);
    return found != by_queue_pair_.end() ? found->second : -1;
  }

  [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
  [[nodiscard]] auto end() const noexcept { return all_.end(); }

 private:
  std::vector<std::unique_ptr<Connection>> all_;
  std::unordered_map<std::uint32_t, int> by_queue_pair_;
};

}  // namespace weft::network::ibv
