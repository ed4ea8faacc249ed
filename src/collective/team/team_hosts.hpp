// Which members of a team are on the same host.
#pragma once

#include <weft/collective/team.hpp>

#include <span>
#include <vector>

namespace weft {
class Runtime;
}

namespace weft::collective {

/// The hosts of a team's members, in the order of the first members.
class TeamHosts {
 public:
  /// One host, as far as is known.
  TeamHosts() = default;
  TeamHosts(const Runtime& runtime, const Team& team);

  [[nodiscard]] int count() const noexcept { return static_cast<int>(first_.size()); }
  /// Returns true when there are several hosts, and several members on one of them.
  [[nodiscard]] bool have_levels() const noexcept {
    return first_.size() > 1 && first_.size() < host_of_.size();
  }
  [[nodiscard]] int own() const noexcept { return own_; }
  [[nodiscard]] int host_of(int rank) const noexcept { return host_of_[static_cast<std::size_t>(rank)]; }
  /// The member with the lowest rank in the team.
  [[nodiscard]] int first_of(int host) const noexcept { return first_[static_cast<std::size_t>(host)]; }
  /// The members on this rank's host, in the order of their ranks.
  [[nodiscard]] std::span<const int> members() const noexcept { return members_; }

 private:
  std::vector<int> host_of_;  // by rank in the team
  std::vector<int> first_;
  std::vector<int> members_;
  int own_ = 0;
};

}  // namespace weft::collective
