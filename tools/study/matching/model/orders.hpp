// In which order the messages of a halo exchange arrive, and its receives are posted.
#pragma once

#include <cstdint>
#include <vector>

#include "study/matching/model/geometry.hpp"

namespace weft::tools::study {

/// Indices of HaloExchange::messages.
using MessageOrder = std::vector<std::uint32_t>;

enum class ArrivalOrder {
  in_order,     ///< as posted
  reversed,     ///< the last that was posted arrives first
  random,       ///< every order is equally likely
  interleaved,  ///< messages of a sender in their order; whose is next is drawn among senders that have any
};

/// `posted` is the order in which receives are posted; interleaved does not depend on it. The same seed gives
/// the same order on every machine; only the last two orders depend on it.
[[nodiscard]] MessageOrder arrival_order(const HaloExchange& exchange, const MessageOrder& posted,
                                         ArrivalOrder order, std::uint64_t seed);

/// The tag of each message, by its index: unique, and strided by the number of receivers. Receiver r of R
/// posts r, r + R, r + 2R and so on.
[[nodiscard]] std::vector<std::uint64_t> strided_tags(const HaloExchange& exchange);

/// Receives as threads post them that take turns: the first of each, the second of each, and so on, which is
/// the order of strided_tags().
[[nodiscard]] MessageOrder posted_in_turns(const HaloExchange& exchange);
/// Receives as threads post them concurrently: each in its order; who is next is drawn among those that have
/// any left.
[[nodiscard]] MessageOrder posted_concurrently(const HaloExchange& exchange, std::uint64_t seed);

/// The messages of each sender, and of each receiver, in their order: what the threads of live modes do.
[[nodiscard]] std::vector<MessageOrder> messages_by_sender(const HaloExchange& exchange);
[[nodiscard]] std::vector<MessageOrder> messages_by_receiver(const HaloExchange& exchange);

}  // namespace weft::tools::study
