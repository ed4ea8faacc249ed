#include "parcel/selection/rank_comparison.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <cstdint>
#include <sstream>

namespace weft::parcel {

namespace {

// The form of parcels and of what ranks send each other, docs/internals/messages/parcels.md. Ranks with
// another one could not understand each other.
constexpr int kWireVersion = 2;

std::uint64_t hash_of(const std::string& text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

/// "parcel option devices is 1 on rank 0 and 2 on rank 1: all ranks must have the same".
std::string difference(const std::string& first, const std::string& other, std::size_t rank) {
  std::istringstream ours(first);
  std::istringstream theirs(other);
  std::string here;
  std::string there;
  while (std::getline(ours, here) && std::getline(theirs, there)) {
    if (here == there) continue;
    const std::size_t end = here.find('=');
    if (there.compare(0, end + 1, here, 0, end + 1) != 0) break;
    return "parcel " + here.substr(0, end) + " is '" + here.substr(end + 1) + "' on rank 0 and '" +
           there.substr(end + 1) + "' on rank " + std::to_string(rank) + ": all ranks must have the same";
  }
  return "parcel options of rank 0 and rank " + std::to_string(rank) +
         " are of different versions of weft: all ranks must have the same";
}

}  // namespace

std::vector<std::string> texts_that_differ(const std::string& mine, int ranks, const Allgather& allgather) {
  struct Summary {
    std::uint64_t hash;
    std::uint64_t length;
  };
  const Summary summary{hash_of(mine), mine.size()};
  std::vector<Summary> all(static_cast<std::size_t>(ranks));
  allgather(weft::bytes_of(summary), std::as_writable_bytes(std::span(all)));
  std::uint64_t longest = 0;
  bool is_equal = true;
  for (const Summary& other : all) {
    longest = std::max(longest, other.length);
    is_equal = is_equal && other.hash == all[0].hash && other.length == all[0].length;
  }
  if (is_equal) return {};
  std::string padded = mine;
  padded.resize(longest, '\0');
  std::string texts(longest * all.size(), '\0');
  allgather(std::as_bytes(std::span(padded)), std::as_writable_bytes(std::span(texts)));
  std::vector<std::string> result;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    result.push_back(texts.substr(rank * longest, all[rank].length));
  return result;
}

void agree_on_options(const std::string& options, int ranks, const Allgather& allgather) {
  const std::string mine = "wire version=" + std::to_string(kWireVersion) + "\n" + options;
  const std::vector<std::string> all = texts_that_differ(mine, ranks, allgather);
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0]) throw Error(difference(all[0], all[rank], rank));
}

}  // namespace weft::parcel
