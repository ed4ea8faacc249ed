// What ranks tell each other in the one exchange that a launcher of the field offers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/launchers/launcher_exchange.hpp"
#include "sockets/key_derivation.hpp"

namespace weft::bootstrap::contact {

/// Rank 0's job id is that of the job, and the other ranks reach its server at its addresses. Nothing in it
/// is secret.
struct Card {
  std::string version;        // of weft
  std::uint64_t boot_id = 0;  // with the next: the host
  std::uint64_t network_namespace = 0;
  std::string host_name;
  std::string job_id;
  sockets::PublicKey key{};  // by which rank 0 and who serves another host have a secret with each other
  std::vector<std::byte> addresses;  // sockets::encode(); of rank 0
};

/// At most kMostBytes.
std::vector<std::byte> encode(const Card& card);
/// Returns nothing when the bytes have another form.
std::optional<Card> decode(std::span<const std::byte> bytes);

/// In the place of a card: why the rank cannot join.
std::vector<std::byte> encode_fault(std::string_view why);

/// The card of this rank, with a job id of its own.
Card make_card(const sockets::PublicKey& key);

/// Decodes the cards of all ranks. Throws weft::Error that names two ranks, and in what they differ, when
/// they cannot form a job.
std::vector<Card> check_cards(const Cards& cards);

/// The host of each rank, counted from 0 in the order of their first ranks.
std::vector<std::int32_t> hosts_of(const std::vector<Card>& cards);

}  // namespace weft::bootstrap::contact
