// The choice among the global identifiers (GID) of a port, which on Ethernet stand for IP addresses.
#pragma once

#include <infiniband/verbs.h>

#include <optional>
#include <span>
#include <string>

namespace weft::network::ibv {

/// Returns the place in `entries` of the one by which peers reach this port best: version 2 of RoCE with an
/// IPv4 address, then with another address that is valid beyond the link, then of the link, then version 1 or
/// InfiniBand; the lowest index among equals. Nothing when `entries` is empty.
[[nodiscard]] std::optional<std::size_t> preferred_gid(std::span<const ibv_gid_entry> entries) noexcept;

/// "10.0.2.15 (RoCE v2)", "fe80::1 (RoCE v1)" or "fe80::1 (InfiniBand)".
[[nodiscard]] std::string to_text(const ibv_gid_entry& entry);

}  // namespace weft::network::ibv
