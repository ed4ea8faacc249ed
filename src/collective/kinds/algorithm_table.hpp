// The table of algorithms, and the choice from it.
#pragma once

#include "collective/kinds/steps.hpp"
#include "collective/team/team_hosts.hpp"

#include <weft/collective/algorithms.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::collective {

/// A row of the table, for collectives of `kind`.
struct AlgorithmRow {
  detail::CollectiveKind kind;
  Algorithm algorithm;
  CollectiveAlgorithm of;
};

/// Beyond it many transfers at a time get in each other's way.
inline constexpr std::size_t kPairwiseBytes = std::size_t{1} << 20;

// clang-format off
/// In the order of the kinds. The first row that fits is chosen: the last one of a kind fits always. Kinds that
/// have one algorithm need no row.
inline constexpr std::array kAlgorithms = {
    AlgorithmRow{detail::CollectiveKind::barrier, Algorithm::two_level, {.collective = "barrier", .name = "two-level", .needs_hosts = true, .rounds = "2 + log2 hosts"}},
    AlgorithmRow{detail::CollectiveKind::barrier, Algorithm::dissemination, {.collective = "barrier", .name = "dissemination", .rounds = "log2 n"}},
    AlgorithmRow{detail::CollectiveKind::broadcast, Algorithm::two_level, {.collective = "broadcast", .name = "two-level", .needs_hosts = true, .rounds = "1 + log2 hosts"}},
    AlgorithmRow{detail::CollectiveKind::broadcast, Algorithm::binomial, {.collective = "broadcast", .name = "binomial", .rounds = "log2 n"}},
    AlgorithmRow{detail::CollectiveKind::reduce, Algorithm::two_level, {.collective = "reduce", .name = "two-level", .needs_hosts = true, .is_commutative = true, .rounds = "1 + log2 hosts"}},
    AlgorithmRow{detail::CollectiveKind::reduce, Algorithm::binomial, {.collective = "reduce", .name = "binomial", .rounds = "log2 n"}},
    AlgorithmRow{detail::CollectiveKind::allreduce, Algorithm::two_level, {.collective = "allreduce", .name = "two-level", .most_bytes = kAtOnceBytes, .needs_hosts = true, .is_commutative = true, .rounds = "2 + log2 hosts"}},
    AlgorithmRow{detail::CollectiveKind::allreduce, Algorithm::doubling, {.collective = "allreduce", .name = "doubling", .most_bytes = kAtOnceBytes, .rounds = "log2 n (+ 2)"}},
    AlgorithmRow{detail::CollectiveKind::allreduce, Algorithm::ring, {.collective = "allreduce", .name = "ring", .is_commutative = true, .rounds = "2 (n - 1)"}},
    AlgorithmRow{detail::CollectiveKind::allreduce, Algorithm::binomial, {.collective = "allreduce", .name = "binomial", .rounds = "2 log2 n"}},
    AlgorithmRow{detail::CollectiveKind::gather, Algorithm::binomial, {.collective = "gather", .name = "binomial", .most_bytes = kAtOnceBytes, .least_members = kPartners + 1, .needs_equal_blocks = true, .rounds = "log2 n"}},
    AlgorithmRow{detail::CollectiveKind::gather, Algorithm::direct, {.collective = "gather", .name = "direct", .rounds = "n / 16"}},
    AlgorithmRow{detail::CollectiveKind::scatter, Algorithm::binomial, {.collective = "scatter", .name = "binomial", .most_bytes = kAtOnceBytes, .least_members = kPartners + 1, .needs_equal_blocks = true, .rounds = "log2 n"}},
    AlgorithmRow{detail::CollectiveKind::scatter, Algorithm::direct, {.collective = "scatter", .name = "direct", .rounds = "n / 16"}},
    AlgorithmRow{detail::CollectiveKind::allgather, Algorithm::direct, {.collective = "allgather", .name = "direct", .most_members = kPartners, .rounds = "1"}},
    AlgorithmRow{detail::CollectiveKind::allgather, Algorithm::bruck, {.collective = "allgather", .name = "bruck", .most_bytes = kAtOnceBytes, .needs_equal_blocks = true, .rounds = "log2 n"}},
    AlgorithmRow{detail::CollectiveKind::allgather, Algorithm::ring, {.collective = "allgather", .name = "ring", .rounds = "n - 1"}},
    AlgorithmRow{detail::CollectiveKind::alltoall, Algorithm::direct, {.collective = "alltoall", .name = "direct", .most_bytes = kPairwiseBytes, .rounds = "n / 16"}},
    AlgorithmRow{detail::CollectiveKind::alltoall, Algorithm::pairwise, {.collective = "alltoall", .name = "pairwise", .rounds = "n - 1"}},
    AlgorithmRow{detail::CollectiveKind::reduce_scatter, Algorithm::direct, {.collective = "reduce_scatter", .name = "direct", .rounds = "n / 16"}},
    AlgorithmRow{detail::CollectiveKind::inclusive_scan, Algorithm::doubling, {.collective = "inclusive_scan", .name = "doubling", .rounds = "log2 n"}},
    AlgorithmRow{detail::CollectiveKind::exclusive_scan, Algorithm::doubling, {.collective = "exclusive_scan", .name = "doubling", .rounds = "log2 n"}},
    AlgorithmRow{detail::CollectiveKind::neighbor_allgather, Algorithm::direct, {.collective = "neighbor_allgather", .name = "direct", .rounds = "1"}},
    AlgorithmRow{detail::CollectiveKind::neighbor_alltoall, Algorithm::direct, {.collective = "neighbor_alltoall", .name = "direct", .rounds = "1"}},
};
// clang-format on

/// Chooses the algorithms of a team.
class AlgorithmChoice {
 public:
  /// By the attribute `collectives`: "allreduce=ring,broadcast=binomial". Throws weft::Error for a
  /// collective, or an algorithm, that there is not; it names those that there are.
  AlgorithmChoice(const Runtime& runtime, const Team& team);

  [[nodiscard]] Algorithm of(const detail::CollectiveCall& call) const noexcept;
  [[nodiscard]] const TeamHosts& hosts() const noexcept { return hosts_; }

 private:
  void ask_for(std::string_view text);

  static constexpr std::size_t kKinds = 16;
  const TeamHosts hosts_;
  const int size_;
  std::array<Algorithm, kKinds> asked_{};  // Algorithm::any: none
};

}  // namespace weft::collective
