// Teams and their collectives, as the handles of the C interface hold them.
#pragma once

#include "objects.hpp"

#include <weft_c/collective.h>

#include <weft/collective.hpp>

#include <optional>

struct weft_team : weft::c::Handle<weft::c::HandleKind::team> {
  weft_team() = default;
  explicit weft_team(weft::Team its_team) : team(std::move(its_team)) {}
  weft::Team team;
};

struct weft_collective : weft::c::Handle<weft::c::HandleKind::collective> {
  template <class Endpoint>
  weft_collective(weft::Runtime& runtime, Endpoint& endpoint, const weft::Team& team,
                  const weft::CollectiveOptions& options)
      : collective(std::in_place, runtime, endpoint, team, options), there(&*collective) {}
  /// That of a group of streams, which owns it.
  explicit weft_collective(weft::Collective& of_group) : there(&of_group) {}

  std::optional<weft::Collective> collective;
  weft::Collective* there;
};

namespace weft::c {

[[nodiscard]] inline Collective& collective_in(weft_collective* collective) {
  return *present(collective, "collective").there;
}

/// The length of `blocks` blocks. Throws BadArgument when there is no buffer so long.
[[nodiscard]] inline std::size_t length_of(std::size_t blocks, std::size_t size) {
  if (blocks != 0 && size > SIZE_MAX / blocks)
    throw BadArgument("a block has " + std::to_string(size) + " bytes, of which there are " +
                      std::to_string(blocks) + ": no buffer is that long");
  return blocks * size;
}

}  // namespace weft::c
