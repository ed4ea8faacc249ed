// Collectives in two levels: inside each host with its leader, and between the leaders.
#pragma once

#include "collective/kinds/steps.hpp"

#include "collective/team/team_hosts.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace weft::collective {

/// Who leads each host in a collective: its first member, or the root.
class Leaders {
 public:
  static constexpr int kNoRoot = -1;
  // Steps between a member and its leader; those between leaders follow.
  static constexpr std::uint32_t kUp = 0;
  static constexpr std::uint32_t kDown = 1;
  static constexpr std::uint32_t kBetween = 2;

  Leaders(const TeamHosts& hosts, int rank, int root = kNoRoot) noexcept
      : hosts_(hosts), rank_(rank), root_(root), root_host_(root < 0 ? 0 : hosts.host_of(root)) {}

  [[nodiscard]] int count() const noexcept { return hosts_.count(); }
  /// The leaders in an order in which the root, or that of the first host, is the first.
  [[nodiscard]] int at(int relative) const noexcept {
    const int host = (relative + root_host_) % count();
    return root_ >= 0 && host == root_host_ ? root_ : hosts_.first_of(host);
  }
  /// This rank's host in that order.
  [[nodiscard]] int relative() const noexcept { return (hosts_.own() + count() - root_host_) % count(); }
  [[nodiscard]] int own() const noexcept { return at(relative()); }
  [[nodiscard]] bool leads() const noexcept { return own() == rank_; }

  /// Calls `use(member)` for those on this host that it does not lead, in their order.
  template <class Use>
  void for_members(const Use& use) const {
    for (const int member : hosts_.members())
      if (member != own()) use(member);
  }

  /// Everything to the members of this host, from its leader.
  template <class Steps>
  void send_down(Steps& steps, Bytes bytes) const {
    for_members([&](int member) { steps.send(member, bytes, kDown); });
  }

  /// Adds up what the members of this host have, in their order; returns where the sum is: `mine`, if there
  /// is no other member, or `sum`.
  template <class Steps>
  [[nodiscard]] const std::byte* add_up(Steps& steps, std::byte* sum, const std::byte* mine,
                                        std::size_t bytes, std::size_t elements) const {
    std::byte* const parts = steps.scratch(bytes * (hosts_.members().size() - 1));
    std::byte* part = parts;
    for_members([&](int member) {
      steps.receive(member, {part, bytes}, kUp, true);
      part += bytes;
    });
    steps.join();
    part = parts;
    for_members([&](int) {
      steps.compute(sum, mine, part, elements);
      mine = sum;
      part += bytes;
    });
    return mine;
  }

 private:
  const TeamHosts& hosts_;
  int rank_;
  int root_;
  int root_host_;
};

}  // namespace weft::collective
