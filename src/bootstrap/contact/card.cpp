#include "bootstrap/contact/card.hpp"

#include <weft/error.hpp>
#include <weft/version.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "base/host/host.hpp"
#include "base/host/host_name.hpp"
#include "bootstrap/job_id.hpp"
#include "sockets/addresses.hpp"

namespace weft::bootstrap::contact {

namespace {

constexpr std::uint32_t kMagic = 0x43544657;       // "WFTC"
constexpr std::uint32_t kFaultMagic = 0x46544657;  // "WFTF"
constexpr std::uint32_t kVersion = 3;

/// Begins a card; the addresses follow.
struct Fixed {
  std::uint32_t magic;
  std::uint32_t version;
  std::array<char, 16> weft;
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

/// Why a rank cannot join, where its bytes tell that.
std::string fault_in(std::span<const std::byte> bytes) {
  std::uint32_t magic = 0;
  if (bytes.size() <= sizeof magic) return {};
  std::memcpy(&magic, bytes.data(), sizeof magic);
  if (magic != kFaultMagic) return {};
  const auto text = bytes.subspan(sizeof magic);
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

}  // namespace

std::vector<std::byte> encode(const Card& card) {
  const std::size_t size = card.addresses.size() <= kMostAddressBytes ? card.addresses.size() : 0;
  const Fixed fixed{kMagic,
                    kVersion,
                    to_array<16>(card.version),
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

std::vector<std::byte> encode_fault(std::string_view why) {
  const std::string_view text = why.substr(0, kMostBytes - sizeof kFaultMagic);
  std::vector<std::byte> bytes(sizeof kFaultMagic + text.size());
  std::memcpy(bytes.data(), &kFaultMagic, sizeof kFaultMagic);
  text.copy(reinterpret_cast<char*>(bytes.data()) + sizeof kFaultMagic, text.size());
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
            fixed.boot_id,
            fixed.network_namespace,
            to_text(fixed.host_name),
            to_text(fixed.job_id),
            fixed.key,
            {}};
  card.addresses.assign(bytes.begin() + sizeof fixed, bytes.end());
  return card;
}

Card make_card(const sockets::PublicKey& key) {
  Card card;
  card.version = library_version();
  card.boot_id = base::read_boot_id();
  card.network_namespace = sockets::read_network_namespace();
  card.host_name = base::host_name();
  card.job_id = random_job_id();
  card.key = key;
  return card;
}

std::vector<Card> check_cards(const Cards& cards) {
  std::vector<Card> decoded;
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    if (const std::string fault = fault_in(cards[rank]); !fault.empty())
      throw Error(ErrorClass::job, "rank " + std::to_string(rank) + " cannot join: " + fault);
    const auto card = decode(cards[rank]);
    if (!card.has_value())
      throw Error(ErrorClass::job, "rank " + std::to_string(rank) +
                                       " runs with another version of weft: all ranks must use the same");
    decoded.push_back(*card);
    // What else they must agree on they state when they join (agreement.hpp).
    const Card& first = decoded.front();
    if (card->version != first.version)
      throw Error(ErrorClass::job, "rank " + std::to_string(rank) + " on " + card->host_name +
                                       " has the version " + card->version + " of weft, rank 0 on " +
                                       first.host_name + " has " + first.version +
                                       ": all ranks must use the same");
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
