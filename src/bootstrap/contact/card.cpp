#include "bootstrap/contact/card.hpp"

#include <weft/error.hpp>
#include <weft/version.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "base/host/host.hpp"
#include "bootstrap/job_id.hpp"
#include "sockets/addresses.hpp"

namespace weft::bootstrap::contact {

namespace {

constexpr std::uint32_t kMagic = 0x43544657;  // "WFTC"
constexpr std::uint32_t kVersion = 2;

/// Begins a card; the addresses follow.
struct Fixed {
  std::uint32_t magic;
  std::uint32_t version;
  std::array<char, 16> weft;
  std::uint64_t packet_size;
  std::uint64_t inline_max;
  std::array<char, 16> network;
  std::array<char, 32> provider;
  std::uint64_t boot_id;
  std::uint64_t network_namespace;
  std::array<char, 64> host_name;
  std::array<char, 32> job_id;
  sockets::PublicKey key;
  std::uint32_t address_bytes;
  std::uint32_t zero;
};
constexpr std::size_t kMostAddressBytes = kMostBytes - sizeof(Fixed);

template <std::size_t Size>
std::array<char, Size> to_array(const std::string& text) {
  std::array<char, Size> array{};
  text.copy(array.data(), Size);
  return array;
}

template <std::size_t Size>
std::string to_text(const std::array<char, Size>& array) {
  return {array.data(), ::strnlen(array.data(), Size)};
}

std::string own_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

}  // namespace

std::vector<std::byte> encode(const Card& card) {
  const std::size_t size = card.addresses.size() <= kMostAddressBytes ? card.addresses.size() : 0;
  const Fixed fixed{kMagic,
                    kVersion,
                    to_array<16>(card.version),
                    card.packet_size,
                    card.inline_max,
                    to_array<16>(card.network),
                    to_array<32>(card.provider),
                    card.boot_id,
                    card.network_namespace,
                    to_array<64>(card.host_name),
                    to_array<32>(card.job_id),
                    card.key,
                    static_cast<std::uint32_t>(size),
                    0};
  std::vector<std::byte> bytes(sizeof fixed + size);
  std::memcpy(bytes.data(), &fixed, sizeof fixed);
  std::copy_n(card.addresses.begin(), size, bytes.begin() + sizeof fixed);
  return bytes;
}

std::optional<Card> decode(std::span<const std::byte> bytes) {
  Fixed fixed{};
  if (bytes.size() < sizeof fixed) return std::nullopt;
  std::memcpy(&fixed, bytes.data(), sizeof fixed);
  if (fixed.magic != kMagic || fixed.version != kVersion ||
      bytes.size() != sizeof fixed + fixed.address_bytes)
    return std::nullopt;
  Card card{to_text(fixed.weft),
            fixed.packet_size,
            fixed.inline_max,
            to_text(fixed.network),
            to_text(fixed.provider),
            fixed.boot_id,
            fixed.network_namespace,
            to_text(fixed.host_name),
            to_text(fixed.job_id),
            fixed.key,
            {}};
  card.addresses.assign(bytes.begin() + sizeof fixed, bytes.end());
  return card;
}

Card make_card(const base::Attributes& attributes, const sockets::PublicKey& key) {
  using base::Attribute;
  Card card;
  card.version = library_version();
  card.packet_size = static_cast<std::uint64_t>(attributes.integer(Attribute::packet_size));
  card.inline_max = static_cast<std::uint64_t>(attributes.integer(Attribute::inline_max));
  card.network = attributes.text(Attribute::network);
  card.provider = attributes.text(Attribute::ofi_provider);
  card.boot_id = base::read_boot_id();
  card.network_namespace = sockets::read_network_namespace();
  card.host_name = own_name();
  card.job_id = random_job_id();
  card.key = key;
  return card;
}

std::vector<Card> check_cards(const Cards& cards) {
  std::vector<Card> decoded;
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    const auto card = decode(cards[rank]);
    if (!card.has_value())
      throw Error("rank " + std::to_string(rank) +
                  " runs with another version of weft: all ranks must use the same");
    decoded.push_back(*card);
    const Card& first = decoded.front();
    const auto require = [&](const std::string& own, const std::string& zero, const char* what,
                             const char* how) {
      if (own == zero) return;
      throw Error("rank " + std::to_string(rank) + " on " + card->host_name + " has " + what + " " + own +
                  ", rank 0 on " + first.host_name + " has " + zero + ": " + how);
    };
    const char* const kSame = "set it to the same on all ranks";
    require(card->version, first.version, "the version of weft", "all ranks must use the same");
    require(std::to_string(card->packet_size), std::to_string(first.packet_size),
            "packet_size (WEFT_PACKET_SIZE)", kSame);
    require(std::to_string(card->inline_max), std::to_string(first.inline_max),
            "inline_max (WEFT_INLINE_MAX)", kSame);
    require(card->network, first.network, "network (WEFT_NETWORK)", kSame);
    require(card->provider, first.provider, "ofi_provider (WEFT_OFI_PROVIDER)", kSame);
  }
  return decoded;
}

std::vector<std::int32_t> hosts_of(const std::vector<Card>& cards) {
  // A kernel that does not tell its boot id is known by its name.
  using Host = std::tuple<std::uint64_t, std::uint64_t, std::string>;
  std::map<Host, std::int32_t> numbers;
  std::vector<std::int32_t> hosts;
  for (const Card& card : cards) {
    const Host host{card.boot_id, card.network_namespace, card.boot_id == 0 ? card.host_name : ""};
    hosts.push_back(numbers.try_emplace(host, static_cast<std::int32_t>(numbers.size())).first->second);
  }
  return hosts;
}

}  // namespace weft::bootstrap::contact
