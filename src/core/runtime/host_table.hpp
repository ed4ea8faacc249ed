// Where the ranks of a job are.
#pragma once

#include "bootstrap/bootstrap.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft::core {

/// Hosts are counted from 0, in the order of their first ranks. Two ranks are on one host when the launcher
/// says so and the attribute host_id gives both hosts the same name.
class HostTable {
 public:
  /// `host_id`: the attribute, the same on all ranks. Throws weft::Error that names it.
  HostTable(const bootstrap::Bootstrap& bootstrap, std::string_view host_id);

  [[nodiscard]] int hosts() const noexcept { return hosts_; }
  [[nodiscard]] int host_of(int rank) const noexcept { return host_of_[static_cast<std::size_t>(rank)]; }
  /// The ranks of this rank's host, itself among them, in ascending order.
  [[nodiscard]] std::span<const int> local_ranks() const noexcept { return local_ranks_; }

 private:
  std::vector<std::int32_t> host_of_;  // by rank
  std::vector<int> local_ranks_;
  int hosts_ = 0;
};

}  // namespace weft::core
