// Ranks of other hosts, whose messages come through RemoteRanks.
#include <algorithm>

#include "bootstrap/local/server_state.hpp"

namespace weft::bootstrap::local {

void Server::connect(RemoteRanks& ranks) {
  hosts_.push_back(&ranks);
  for (const auto& instance : instances_) {
    if (instance == nullptr) continue;
    for (int rank = 0; rank < size_; ++rank)
      if (instance->board.has_failed(rank) || instance->board.has_left(rank))
        ranks.departed(instance->number, rank, instance->board.has_failed(rank));
  }
}

void Server::disconnect(RemoteRanks& ranks) {
  std::erase(hosts_, &ranks);
  std::vector<int> keys;
  for (const auto& [key, connection] : clients_)
    if (connection->ranks == &ranks) keys.push_back(key);
  for (const int key : keys) closed(key);
}

Server::Connection* Server::find_stream(const RemoteRanks& ranks, std::uint32_t stream) {
  const auto found = std::find_if(clients_.begin(), clients_.end(), [&](const auto& each) {
    return each.second->ranks == &ranks && each.second->stream == stream;
  });
  return found == clients_.end() ? nullptr : found->second.get();
}

void Server::receive(RemoteRanks& ranks, std::uint32_t stream, const Header& header, Bytes payload) {
  Connection* connection = find_stream(ranks, stream);
  if (connection == nullptr) {
    auto& slot = clients_[next_stream_];
    slot = std::make_unique<Connection>();
    connection = slot.get();
    connection->key = next_stream_--;
    connection->ranks = &ranks;
    connection->stream = stream;
  }
  connection->header = header;
  connection->payload = std::move(payload);
  const bool goes_on = connection->payload.size() <= longest_request(connection->key) && handle(*connection);
  connection->payload = {};
  if (goes_on) return;
  ranks.close(stream);
  closed(connection->key);
}

void Server::close(RemoteRanks& ranks, std::uint32_t stream) {
  if (const Connection* const connection = find_stream(ranks, stream); connection != nullptr)
    closed(connection->key);
}

}  // namespace weft::bootstrap::local
