#include "parcel/runtime/awaited.hpp"

#include <weft/parcel/runtime.hpp>

#include <exception>
#include <string>
#include <vector>

namespace weft::parcel::detail {

void Awaited::fail(int rank) {
  for (const PendingCall& call : calls.take_all(rank)) {
    call.state->set_exception(std::make_exception_ptr(PeerFailed(rank)));
    call.state->release();
  }
  std::vector<std::shared_ptr<ChannelBase>> all;
  std::vector<std::shared_ptr<RuntimePart>> all_parts;
  {
    const std::lock_guard lock(mutex);
    for (auto& [id, channel] : channels) all.push_back(channel);
    for (auto& [type, part] : parts) all_parts.push_back(part);
  }
  for (auto& channel : all) channel->fail(rank);
  for (auto& part : all_parts) part->peer_failed(rank);
}

void Awaited::end(int ranks) noexcept {
  const auto why = [](const std::string& what) {
    return std::make_exception_ptr(RuntimeEnded(what + " when the parcel runtime ended"));
  };
  for (int rank = 0; rank < ranks; ++rank)
    for (const PendingCall& call : calls.take_all(rank)) {
      call.state->set_exception(why("rank " + std::to_string(rank) + " had not answered"));
      call.state->release();
    }
  std::unordered_map<std::uint64_t, std::shared_ptr<ChannelBase>> ended;
  decltype(parts) ended_parts;
  {
    const std::lock_guard lock(mutex);
    ended.swap(channels);
    ended_parts.swap(parts);
  }
  for (auto& [id, channel] : ended)
    channel->end(why("channel " + std::to_string(id) + " had not been given the value"));
}

}  // namespace weft::parcel::detail
