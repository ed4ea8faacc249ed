// The exchange of ranks that know nothing but where rank 0 is.
//
//   rank                               rank 0
//                                 <--  Greeting (nonce)
//   Arrival (rank, size, card)    -->
//                                 <--  Result: all cards, or one line of text
//
// With WEFT_JOB_SECRET set on all ranks, an arrival proves that it knows it; without, whoever reaches the
// port of rank 0 first can be a rank.
#pragma once

#include "bootstrap/launchers/environment/environment.hpp"
#include "bootstrap/launchers/environment/reports.hpp"
#include "bootstrap/launchers/launcher_exchange.hpp"

namespace weft::bootstrap::contact {

/// Rank 0: waits for all others. Throws weft::Error, which names those that have not come.
/// `connections`: to the others, by rank.
Cards gather_cards(const EnvironmentJob& job, std::span<const std::byte> own, const base::Deadline& deadline,
                   Connections& connections);
/// The others. `connections`: the one to rank 0. Throws weft::Error.
Cards bring_card(const EnvironmentJob& job, std::span<const std::byte> own, const base::Deadline& deadline,
                 Connections& connections);

}  // namespace weft::bootstrap::contact
