/* Teams: ordered lists of ranks that have collectives together. */
#ifndef WEFT_C_TEAM_H
#define WEFT_C_TEAM_H

#include <weft_c/base.h>
#include <weft_c/collective.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Making a team is local, because each member knows the list. Ranks at a constant distance cost as much as
 * one. */
/* The ranks of the list, in its order. */
WEFT_C_API weft_result weft_team_create(weft_runtime* runtime, const int* ranks, size_t count,
                                        weft_team** team);
/* The ranks first, first + stride, ...: `count` of them. `stride` is not 0. */
WEFT_C_API weft_result weft_team_of_range(weft_runtime* runtime, int first, int count, int stride,
                                          weft_team** team);
/* All ranks; those on the host of this one, ascending; the lowest of each host, in the order of hosts. */
WEFT_C_API weft_result weft_team_of_world(weft_runtime* runtime, weft_team** team);
WEFT_C_API weft_result weft_team_of_host(weft_runtime* runtime, weft_team** team);
WEFT_C_API weft_result weft_team_of_leaders(weft_runtime* runtime, weft_team** team);
/* Collective over the collective's team: teams of the ranks that give the same `colour`, in the order of
 * their keys, and of their ranks where keys are equal; a team of nobody for a colour below 0. */
WEFT_C_API weft_result weft_team_split(weft_collective* collective, int colour, int key, weft_team** team);
/* Collectives that were made over the team go on without it. */
WEFT_C_API weft_result weft_team_destroy(weft_team* team);

WEFT_C_API int weft_team_size(const weft_team* team);
/* The rank in the team of the rank that made it; -1: that is no member. */
WEFT_C_API int weft_team_rank(const weft_team* team);
/* The rank in the job of a member; WEFT_ERROR_USE, and a line, for a rank that the team does not have. */
WEFT_C_API int weft_team_job_rank(const weft_team* team, int rank);
/* The rank in the team of a rank of the job; -1: that is no member. */
WEFT_C_API int weft_team_rank_of(const weft_team* team, int job_rank);

#ifdef __cplusplus
}
#endif

#endif
