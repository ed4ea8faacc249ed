#include "core/runtime/host_table.hpp"

#include "base/host/host_id.hpp"

#include <map>
#include <string>
#include <utility>

namespace weft::core {

HostTable::HostTable(const bootstrap::Bootstrap& bootstrap, std::string_view host_id)
    : host_of_(static_cast<std::size_t>(bootstrap.size())) {
  std::map<std::pair<int, std::string>, int> numbers;
  for (int rank = 0; rank < bootstrap.size(); ++rank) {
    const auto [entry, is_new] =
        numbers.try_emplace({bootstrap.host_of(rank), base::host_id_of_rank(host_id, rank)}, hosts_);
    if (is_new) ++hosts_;
    host_of_[static_cast<std::size_t>(rank)] = entry->second;
  }
  for (int rank = 0; rank < bootstrap.size(); ++rank)
    if (host_of(rank) == host_of(bootstrap.rank())) local_ranks_.push_back(rank);
}

}  // namespace weft::core
