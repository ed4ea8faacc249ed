#include "network/ofi/access_domain.hpp"

#include <weft/error.hpp>

#include <array>

namespace weft::network::ofi {

namespace {

/// Providers whose endpoints for reliable datagrams are connections of sockets without a layer in between:
/// one that has failed is made again by the next access. Not ofi_rxm, whose connection stays broken.
constexpr std::array<std::string_view, 2> kWithoutLayer = {"net", "tcp"};

}  // namespace

AccessDomain::Choice AccessDomain::choose(std::string_view provider, std::string_view address) {
  if (!uses_sockets(provider))
    return {"", "with the provider " + std::string(provider) +
                    " a key that has ended would end a connection for good"};
  for (const std::string_view each : kWithoutLayer)
    if (is_usable(each, address)) return {std::string(each), ""};
  return {"",
          "libfabric has neither of the providers net and tcp that would make a connection again which a "
          "key that has ended has broken"};
}

const AccessFindings& AccessDomain::findings() {
  const std::lock_guard lock(mutex_);
  if (!findings_.has_value()) findings_ = probe_accesses(fabric_);
  return *findings_;
}

std::uint64_t AccessDomain::add(RegionName name, std::span<std::byte> memory) {
  const AccessFindings& found = findings();
  if (!found.unsound.empty()) throw Error(ErrorClass::network, found.unsound);
  const std::lock_guard lock(mutex_);
  if (presence_registration_ == nullptr)
    presence_registration_ = fabric_.register_region(presence_, kPresenceKey);
  const std::uint64_t key = region_key(name);
  regions_[key] = fabric_.register_region(memory, key);
  has_had_regions_.store(true, std::memory_order_relaxed);
  return found.no_signals.empty() ? kTakesSignals : 0;
}

bool AccessDomain::remove(RegionName name) noexcept {
  const std::lock_guard lock(mutex_);
  return regions_.erase(region_key(name)) != 0;
}

}  // namespace weft::network::ofi
