// Tests that run over each parcelport.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "support/parcel_ranks.hpp"

namespace weft::test {

class OverParcelports : public testing::TestWithParam<ParcelSettings> {
 protected:
  static void run(int ranks, const std::function<void(parcel::Runtime&)>& main) {
    run_parcel_ranks(ranks, GetParam(), main);
  }
};

/// What is about waiting: few workers, small stacks, progress by threads.
inline std::vector<ParcelSettings> settings_of_waits() {
  using parcel::Aggregation;
  return {{"shm_one_worker", false, Aggregation::adaptive, 1},
          {"shm_two_workers", false, Aggregation::adaptive, 2},
          {"shm_small_stacks", false, Aggregation::adaptive, 2, 1, "weft", "stack=256K"},
          {"tcp", false, Aggregation::adaptive, 2, 1, "tcp"},
          {"send_thread", false, Aggregation::queued, 2, 1, "sendrecv", "progress=thread"},
          {"loopback", true, Aggregation::adaptive, 2}};
}

/// One of each port, protocol, and way to progress; `is_of_mpi`: those of MPI, if this process is one of its
/// ranks.
inline std::vector<ParcelSettings> settings_of_parcelports(bool is_of_mpi) {
  using parcel::Aggregation;
  if (is_of_mpi && !is_rank_of_mpi()) return {};
  if (is_of_mpi)
    return {{"adaptive", false, Aggregation::adaptive, 1, 1, "mpi"},
            {"original", false, Aggregation::queued, 1, 1, "mpi-original"}};
  return {{"shm", false, Aggregation::adaptive},
          {"shm_immediate", false, Aggregation::immediate, 2},
          {"shm_queued", false, Aggregation::queued},
          {"shm_thread", false, Aggregation::adaptive, 1, 1, "weft", "progress=thread"},
          {"shm_both", false, Aggregation::adaptive, 1, 2, "weft", "progress=both"},
          {"put", false, Aggregation::adaptive, 1, 1, "putsendrecv"},
          {"send", false, Aggregation::immediate, 1, 1, "sendrecv"},
          {"tcp", false, Aggregation::adaptive, 1, 1, "tcp"},
          {"tcp_immediate", false, Aggregation::immediate, 2, 1, "tcp"},
          {"loopback", true, Aggregation::adaptive},
          {"loopback_queued", true, Aggregation::queued}};
}

}  // namespace weft::test

/// Those of MPI need mpiexec: tests/multiprocess/parcel.
#define WEFT_INSTANTIATE_OVER_PARCELPORTS(suite)                                                          \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite);                                                   \
  INSTANTIATE_TEST_SUITE_P(Mpi, suite, testing::ValuesIn(::weft::test::settings_of_parcelports(true)),    \
                           [](const auto& instance) { return std::string(instance.param.name); });        \
  INSTANTIATE_TEST_SUITE_P(Ports, suite, testing::ValuesIn(::weft::test::settings_of_parcelports(false)), \
                           [](const auto& instance) { return std::string(instance.param.name); })
