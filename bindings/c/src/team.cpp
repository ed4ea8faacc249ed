#include <weft_c/team.h>

#include "collective.hpp"

using namespace weft::c;

namespace {

template <class Make>
weft_result create_team(const char* function, weft_team** team, const Make& make) noexcept {
  return create(function, team, "team", [&] { return std::make_unique<weft_team>(make()); });
}

weft::Runtime& runtime_in(weft_runtime* runtime) { return present(runtime, "runtime").runtime; }

}  // namespace

extern "C" {

weft_result weft_team_create(weft_runtime* runtime, const int* ranks, size_t count, weft_team** team) {
  return create_team(__func__, team, [&] {
    if (count != 0) present(ranks, "ranks");
    return weft::Team(runtime_in(runtime), std::span<const int>(ranks, count));
  });
}

weft_result weft_team_of_range(weft_runtime* runtime, int first, int count, int stride, weft_team** team) {
  return create_team(__func__, team, [&] {
    return weft::Team(runtime_in(runtime), weft::TeamRange{.first = first, .count = count, .stride = stride});
  });
}

weft_result weft_team_of_world(weft_runtime* runtime, weft_team** team) {
  return create_team(__func__, team, [&] { return weft::Team::world(runtime_in(runtime)); });
}

weft_result weft_team_of_host(weft_runtime* runtime, weft_team** team) {
  return create_team(__func__, team, [&] { return weft::Team::host(runtime_in(runtime)); });
}

weft_result weft_team_of_leaders(weft_runtime* runtime, weft_team** team) {
  return create_team(__func__, team, [&] { return weft::Team::leaders(runtime_in(runtime)); });
}

weft_result weft_team_split(weft_collective* collective, int colour, int key, weft_team** team) {
  return guarded(__func__, [&] {
    present(team, "team");
    *team = nullptr;
    auto part = std::make_unique<weft_team>();
    const weft_result result = result_of(collective_in(collective).split(colour, key, part->team));
    if (result == WEFT_OK) *team = part.release();
    return result;
  });
}

weft_result weft_team_destroy(weft_team* team) { return destroy(__func__, team, "team"); }

int weft_team_size(const weft_team* team) {
  return guarded(__func__, [&] { return present(team, "team").team.size(); });
}

int weft_team_rank(const weft_team* team) {
  return guarded(__func__, [&] { return present(team, "team").team.rank(); });
}

int weft_team_job_rank(const weft_team* team, int rank) {
  return guarded(__func__, [&] { return present(team, "team").team.job_rank(rank); });
}

int weft_team_rank_of(const weft_team* team, int job_rank) {
  return guarded(__func__, [&] { return present(team, "team").team.rank_of(job_rank); });
}

}  // extern "C"
