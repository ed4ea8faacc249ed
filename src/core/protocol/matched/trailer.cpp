#include "core/protocol/matched/trailer.hpp"

#include "core/matching/matching_engines.hpp"
#include "core/protocol/message_class.hpp"

#include <cstring>

namespace weft::core {

namespace {

constexpr auto kPolicies = static_cast<std::uint8_t>(MatchingPolicy::user) + 1;

}  // namespace

bool read_trailer(const Message& arrival, MatchTrailer& trailer, network::Sink& sink) noexcept {
  if (arrival.size() < sizeof trailer) {
    sink.reject(arrival.peer(), "send of a wrong length", arrival.size());
    return false;
  }
  std::memcpy(&trailer, arrival.data() + arrival.size() - sizeof trailer, sizeof trailer);
  const auto policy = static_cast<std::uint8_t>(policy_of(trailer));
  if (is_message_class(static_cast<std::uint32_t>(class_of(trailer))) &&
      (trailer.engine < kMatchingEngines ? policy < kPolicies
                                         : trailer.engine < MatchingEngines::kAllIds && policy == 0))
    return true;
  sink.reject(arrival.peer(), "send for an impossible engine, policy or class",
              static_cast<std::uint64_t>(trailer.engine) << 8 | trailer.policy);
  return false;
}

}  // namespace weft::core
