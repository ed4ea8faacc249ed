#include "collective/team/team_hosts.hpp"

#include <weft/runtime.hpp>

namespace weft::collective {

TeamHosts::TeamHosts(const Runtime& runtime, const Team& team) {
  if (runtime.hosts() == 1) return;
  std::vector<int> number_of(static_cast<std::size_t>(runtime.hosts()), -1);  // in the team
  for (int rank = 0; rank < team.size(); ++rank) {
    int& number = number_of[static_cast<std::size_t>(runtime.host_of(team.at(rank)))];
    if (number < 0) {
      number = count();
      first_.push_back(rank);
    }
    host_of_.push_back(number);
  }
  own_ = host_of(team.rank());
  for (int rank = 0; rank < team.size(); ++rank)
    if (host_of(rank) == own_) members_.push_back(rank);
}

}  // namespace weft::collective
