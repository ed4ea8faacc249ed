// The name by which a rank tells its host from other hosts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::base {

/// Longest name of a host.
inline constexpr std::size_t kMaximumHostId = 63;

/// Returns the name that the attribute host_id gives to the host of this rank: empty for "auto", for which
/// the identity of the kernel stands, and else its text, in which %r stands
/// for the rank, %r/N for the rank divided by N, and %r%N for the remainder of that division. So one value,
/// the same for all ranks, makes several hosts out of one. Throws weft::Error that names the attribute.
[[nodiscard]] std::string host_id_of_rank(std::string_view attribute, int rank);

}  // namespace weft::base
