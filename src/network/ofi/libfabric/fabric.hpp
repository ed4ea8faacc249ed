// The provider that carries a rank's messages, and the domain in which its memory is registered.
#pragma once

#include "network/ofi/libfabric/objects.hpp"

#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::network::ofi {

/// The names of the providers of this host that weft can use, the preferred one first; empty when there is
/// none.
[[nodiscard]] std::vector<std::string> usable_providers(std::string_view address);

/// Returns true when the provider of this name is one of them.
[[nodiscard]] bool is_usable(std::string_view provider, std::string_view address);
/// Returns true for providers whose connections are sockets.
[[nodiscard]] bool uses_sockets(std::string_view provider) noexcept;

class Fabric {
 public:
  /// `provider`: a name as fi_info(1) shows it, or "auto". `address`: the IPv4 address that providers with
  /// sockets listen on. Throws weft::Error that names the problem.
  Fabric(std::string_view provider, std::string_view address);

  [[nodiscard]] fi_info& info() const noexcept { return *info_; }
  [[nodiscard]] fid_fabric& fabric() const noexcept { return *fabric_; }
  [[nodiscard]] fid_domain& domain() const noexcept { return *domain_; }
  [[nodiscard]] std::string_view provider() const noexcept { return info_->fabric_attr->prov_name; }
  /// Throws weft::Error when the call of libfabric has failed.
  void check(long result, const char* call) const;

  /// Registers memory that peers of the endpoint may read. Throws weft::Error.
  [[nodiscard]] Owned<fid_mr> register_source(std::span<std::byte> memory, fid_ep& endpoint) {
    return open_registration(memory, FI_REMOTE_READ | FI_WRITE, next_key(), &endpoint);
  }
  /// Registers memory that peers of the endpoint may write. Throws weft::Error.
  [[nodiscard]] Owned<fid_mr> register_landing(std::span<std::byte> memory, fid_ep& endpoint) {
    return open_registration(memory, FI_REMOTE_WRITE, next_key(), &endpoint);
  }
  /// Registers memory that peers of all endpoints may read and write, by this key and from offset 0 on.
  /// Throws weft::Error, also where the provider has it otherwise.
  [[nodiscard]] Owned<fid_mr> register_region(std::span<std::byte> memory, std::uint64_t key);
  /// Registers memory that only this rank's own transfers use; returns nothing when the provider needs no
  /// registration.
  [[nodiscard]] Owned<fid_mr> register_local(std::span<std::byte> memory);
  /// The bytes of a number that a write can bring to the peer: 8, 4 or 0.
  [[nodiscard]] std::size_t immediate_bytes() const noexcept;
  /// Returns true when remote addresses are the owner's pointers instead of offsets in the registration.
  [[nodiscard]] bool has_virtual_addresses() const noexcept {
    return (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
  }

 private:
  /// `key`: of this rank's choice, where the provider makes none. `endpoint`: to which the registration
  /// belongs where the provider needs that; null: to none.
  Owned<fid_mr> open_registration(std::span<std::byte> memory, std::uint64_t access, std::uint64_t key,
                                  fid_ep* endpoint);
  [[nodiscard]] std::uint64_t next_key() noexcept {
    return next_key_.fetch_add(1, std::memory_order_relaxed);
  }

  Info info_;
  Owned<fid_fabric> fabric_;
  Owned<fid_domain> domain_;
  std::atomic<std::uint64_t> next_key_{1};
};

/// The descriptor that transfers from registered memory pass to libfabric.
[[nodiscard]] inline void* descriptor_of(const Owned<fid_mr>& registration) noexcept {
  return registration != nullptr ? ::fi_mr_desc(registration.get()) : nullptr;
}

}  // namespace weft::network::ofi
