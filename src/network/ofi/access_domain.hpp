// The domain in which peers reach this rank's regions: of a provider that carries out puts and gets itself.
#pragma once

#include "network/memory_of_ranks.hpp"
#include "network/ofi/libfabric/fabric.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weft::network::ofi {

/// The key of a region. A provider refuses one that belongs to no region that is open: names are never used
/// again.
[[nodiscard]] constexpr std::uint64_t region_key(RegionName name) noexcept {
  return std::uint64_t{name.generation} << 32 | name.index;
}

/// The key of memory by which a rank answers that it is there. No region has it: generations are not 0.
inline constexpr std::uint64_t kPresenceKey = 1;

/// The address of regions whose owner is told the signal that a put brings along; others have 0.
inline constexpr std::uint64_t kTakesSignals = 1;

/// What has been found out by attempts.
struct AccessFindings {
  std::string unsound;     // why puts and gets cannot be left to the provider; empty: they can
  std::string no_signals;  // why it brings no signals along; empty: it does
};

/// Any thread.
class AccessDomain {
 public:
  /// The provider that carries out puts and gets of ranks that send messages by `provider`, or why there is
  /// none.
  struct Choice {
    std::string provider;  // empty: none
    std::string why_not;
  };
  [[nodiscard]] static Choice choose(std::string_view provider, std::string_view address);

  /// Throws weft::Error.
  AccessDomain(std::string_view provider, std::string_view address) : fabric_(provider, address) {}

  [[nodiscard]] Fabric& fabric() noexcept { return fabric_; }
  /// Tries the provider, once.
  [[nodiscard]] const AccessFindings& findings();
  /// Lets peers reach the memory from now on. Returns the address for its keys. Throws weft::Error that says
  /// why they cannot.
  std::uint64_t add(RegionName name, std::span<std::byte> memory);
  /// Peers begin no access any more. Returns false when they never could. Otherwise what a peer has put in
  /// part may still be stored: the memory must never become something else.
  [[nodiscard]] bool remove(RegionName name) noexcept;
  /// Returns true when peers may access, or have accessed, memory of this rank.
  [[nodiscard]] bool has_had_regions() const noexcept {
    return has_had_regions_.load(std::memory_order_relaxed);
  }

 private:
  Fabric fabric_;
  std::mutex mutex_;  // guards what follows
  std::map<std::uint64_t, Owned<fid_mr>> regions_;
  std::array<std::byte, 8> presence_{};
  Owned<fid_mr> presence_registration_;
  std::optional<AccessFindings> findings_;
  std::atomic<bool> has_had_regions_{false};
};

/// Tries whether a provider refuses a stale key, and nothing else, and tells the signals of puts: opens two
/// endpoints, which put into memory of this process.
[[nodiscard]] AccessFindings probe_accesses(Fabric& fabric);

}  // namespace weft::network::ofi
