// What every implementation of Bootstrap does.
#include <weft/error.hpp>
#include <weft/testing/in_process_job.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/agreement.hpp"
#include "jobs.hpp"

namespace weft::bootstrap {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span{text}); }
std::string text(const std::vector<std::byte>& value) {
  return {reinterpret_cast<const char*>(value.data()), value.size()};
}

struct Kind {
  const char* name;
  int size;
};

class BootstrapConformance : public testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<TestJob> make_job(double timeout = 30) const {
    const std::string name = GetParam().name;
    if (name == "in_process") return std::make_unique<InProcessJob>(size(), timeout);
    if (name == "local") return std::make_unique<LocalJobUnderTest>(size(), timeout);
    if (name == "relayed") return std::make_unique<RelayedJobUnderTest>(size(), timeout);
    return std::make_unique<SingleJob>(timeout);
  }
  int size() const { return GetParam().size; }

  // Runs the function once per rank, each in its own thread with its own membership.
  void on_every_rank(TestJob& job, const std::function<void(Bootstrap&)>& function) const {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size(); ++rank) {
      threads.emplace_back([&job, &function, rank] {
        try {
          const auto bootstrap = job.join(rank);
          function(*bootstrap);
        } catch (const std::exception& error) {
          ADD_FAILURE() << "rank " << rank << ": " << error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  static std::string error_of(const std::function<void()>& function) {
    try {
      function();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
};

class BootstrapOfSeveralRanks : public BootstrapConformance {};

std::string name_of(const testing::TestParamInfo<Kind>& instance) {
  return std::string(instance.param.name) + "_" + std::to_string(instance.param.size);
}

TEST_P(BootstrapConformance, every_rank_knows_its_rank_the_size_and_one_common_job_id) {
  const auto job = make_job();
  std::mutex mutex;
  std::set<int> ranks;
  std::set<std::string> ids;
  on_every_rank(*job, [&](Bootstrap& bootstrap) {
    EXPECT_EQ(bootstrap.size(), size());
    const std::lock_guard lock{mutex};
    ranks.insert(bootstrap.rank());
    ids.insert(std::string(bootstrap.job_id()));
  });
  EXPECT_EQ(static_cast<int>(ranks.size()), size());
  EXPECT_EQ(*ranks.begin(), 0);
  ASSERT_EQ(ids.size(), 1u);
  EXPECT_TRUE(is_job_id(*ids.begin())) << *ids.begin();
}

TEST_P(BootstrapConformance, a_published_value_is_read_by_every_rank) {
  const auto job = make_job();
  on_every_rank(*job, [&](Bootstrap& bootstrap) {
    bootstrap.put("address", bytes("of " + std::to_string(bootstrap.rank())));
    for (int rank = 0; rank < size(); ++rank)
      EXPECT_EQ(text(bootstrap.get(rank, "address")), "of " + std::to_string(rank));
    bootstrap.barrier();
    EXPECT_EQ(text(bootstrap.try_get(size() - 1, "address").value()), "of " + std::to_string(size() - 1));
  });
}

TEST_P(BootstrapConformance, a_key_that_is_not_published_is_missing_at_once) {
  const auto job = make_job();
  on_every_rank(*job, [&](Bootstrap& bootstrap) {
    EXPECT_EQ(bootstrap.try_get(0, "nothing"), std::nullopt);
    EXPECT_EQ(bootstrap.try_get(size() - 1, "nothing"), std::nullopt);
  });
}

TEST_P(BootstrapConformance, an_empty_value_is_a_value) {
  const auto job = make_job();
  on_every_rank(*job, [&](Bootstrap& bootstrap) {
    bootstrap.put("empty", {});
    EXPECT_TRUE(bootstrap.get(0, "empty").empty());
    EXPECT_TRUE(bootstrap.try_get(bootstrap.rank(), "empty").has_value());
    bootstrap.barrier();
  });
}

TEST_P(BootstrapConformance, get_waits_for_the_value_at_most_for_the_time_out) {
  const auto job = make_job(0.5);
  const auto bootstrap = job->join(0);
  EXPECT_EQ(error_of([&] { bootstrap->get(0, "never"); }),
            "rank 0 has not published \"never\" within 0.5 s (WEFT_BOOTSTRAP_TIMEOUT)");
}

TEST_P(BootstrapConformance, a_key_is_published_once) {
  const auto job = make_job();
  const auto bootstrap = job->join(0);
  bootstrap->put("key", bytes("first"));
  EXPECT_EQ(error_of([&] { bootstrap->put("key", bytes("second")); }),
            "rank 0 publishes \"key\" a second time: a key is published once");
  EXPECT_EQ(text(bootstrap->get(0, "key")), "first");
}

TEST_P(BootstrapConformance, ranks_keys_and_values_beyond_their_limits_are_refused) {
  const auto job = make_job();
  const auto bootstrap = job->join(0);
  EXPECT_NE(error_of([&] { bootstrap->get(size(), "key"); }).find("does not exist"), std::string::npos);
  EXPECT_NE(error_of([&] { bootstrap->try_get(-1, "key"); }).find("does not exist"), std::string::npos);
  EXPECT_NE(error_of([&] { bootstrap->put("", bytes("x")); }), "no error");
  EXPECT_NE(error_of([&] { bootstrap->put(std::string(256, 'k'), bytes("x")); }), "no error");
  const std::vector<std::byte> large(kMaximumValue + 1);
  EXPECT_NE(error_of([&] { bootstrap->put("large", large); }), "no error");
  std::vector<std::byte> too_small(3);
  EXPECT_NE(error_of([&] { bootstrap->allgather(bytes("abcd"), too_small); }), "no error");
  bootstrap->put("key", bytes("still works"));
  EXPECT_EQ(text(bootstrap->get(0, "key")), "still works");
}

TEST_P(BootstrapConformance, nobody_leaves_a_barrier_before_everybody_has_come) {
  const auto job = make_job();
  std::atomic<int> arrived{0};
  on_every_rank(*job, [&](Bootstrap& bootstrap) {
    for (int round = 1; round <= 20; ++round) {
      arrived.fetch_add(1);
      bootstrap.barrier();
      EXPECT_GE(arrived.load(), round * size());
    }
  });
}

TEST_P(BootstrapConformance, allgather_brings_everybody_everything_in_the_order_of_ranks) {
  const auto job = make_job();
  on_every_rank(*job, [&](Bootstrap& bootstrap) {
    for (std::uint32_t round = 0; round < 5; ++round) {
      const std::uint32_t mine = round * 1000 + static_cast<std::uint32_t>(bootstrap.rank());
      std::vector<std::uint32_t> all(static_cast<std::size_t>(size()));
      bootstrap.allgather(std::as_bytes(std::span{&mine, 1}), std::as_writable_bytes(std::span{all}));
      for (std::uint32_t rank = 0; rank < all.size(); ++rank) EXPECT_EQ(all[rank], round * 1000 + rank);
    }
    bootstrap.allgather({}, {});
  });
}

TEST_P(BootstrapConformance, values_of_a_mebibyte_arrive_whole) {
  const auto job = make_job();
  constexpr std::size_t kLarge = std::size_t{1} << 20;
  const int ranks = std::min(size(), 4);
  on_every_rank(*job, [&](Bootstrap& bootstrap) {
    const std::size_t mine_bytes = size() <= 4 ? kLarge : kLarge / 16;
    const std::vector<std::byte> mine(mine_bytes, static_cast<std::byte>(bootstrap.rank() + 1));
    std::vector<std::byte> all(mine_bytes * static_cast<std::size_t>(size()));
    bootstrap.allgather(mine, all);
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(size()); ++rank) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(rank * mine_bytes);
      EXPECT_TRUE(std::all_of(first, first + static_cast<std::ptrdiff_t>(mine_bytes),
                              [&](std::byte byte) { return byte == static_cast<std::byte>(rank + 1); }));
    }
    if (bootstrap.rank() < ranks) bootstrap.put("large", std::vector<std::byte>(kLarge, std::byte{7}));
    EXPECT_EQ(bootstrap.get(ranks - 1, "large").size(), kLarge);
    bootstrap.barrier();
  });
}

TEST_P(BootstrapConformance, several_runtimes_of_one_job_do_not_see_each_other) {
  const auto job = make_job();
  std::mutex mutex;
  std::set<std::string> ids;
  on_every_rank(*job, [&](Bootstrap& first) {
    const auto second = job->join(first.rank());
    first.put("key", bytes("first"));
    second->put("key", bytes("second"));
    EXPECT_EQ(text(first.get(size() - 1, "key")), "first");
    EXPECT_EQ(text(second->get(size() - 1, "key")), "second");
    second->barrier();
    first.barrier();
    const std::lock_guard lock{mutex};
    ids.insert({std::string(first.job_id()), std::string(second->job_id())});
  });
  EXPECT_EQ(ids.size(), 2u);
}

TEST_P(BootstrapConformance, runtimes_may_follow_each_other) {
  const auto job = make_job();
  for (int round = 0; round < 3; ++round) {
    on_every_rank(*job, [&](Bootstrap& bootstrap) {
      EXPECT_EQ(bootstrap.try_get(0, "round"), std::nullopt);
      bootstrap.barrier();
      bootstrap.put("round", bytes(std::to_string(round)));
      EXPECT_EQ(text(bootstrap.get(size() - 1, "round")), std::to_string(round));
      bootstrap.barrier();
    });
  }
}

TEST_P(BootstrapConformance, a_waiting_thread_does_not_keep_others_of_its_rank_from_asking) {
  const auto job = make_job();
  on_every_rank(*job, [&](Bootstrap& bootstrap) {
    std::vector<std::thread> waiting;
    for (int i = 0; i < 3; ++i) {
      waiting.emplace_back([&, i] {
        EXPECT_EQ(text(bootstrap.get((bootstrap.rank() + 1) % size(), "late" + std::to_string(i))), "value");
      });
    }
    for (int i = 0; i < 50; ++i) EXPECT_EQ(bootstrap.try_get(0, "never"), std::nullopt);
    for (int i = 0; i < 3; ++i) bootstrap.put("late" + std::to_string(i), bytes("value"));
    for (std::thread& thread : waiting) thread.join();
    bootstrap.barrier();
  });
}

TEST_P(BootstrapOfSeveralRanks, what_needs_a_rank_that_has_left_fails_and_names_it) {
  const auto job = make_job();
  on_every_rank(*job, [&](Bootstrap& bootstrap) {
    if (bootstrap.rank() == 1) {
      bootstrap.put("before", bytes("value"));
      return;
    }
    EXPECT_NE(error_of([&] { bootstrap.barrier(); }).find("rank 1 has left the job"), std::string::npos);
    std::vector<std::byte> all(static_cast<std::size_t>(size()));
    EXPECT_NE(error_of([&] { bootstrap.allgather(bytes("x"), all); }).find("without joining the allgather"),
              std::string::npos);
    EXPECT_NE(error_of([&] { bootstrap.get(1, "after"); }).find("without publishing \"after\""),
              std::string::npos);
    EXPECT_EQ(bootstrap.try_get(1, "after"), std::nullopt);
    EXPECT_EQ(text(bootstrap.get(1, "before")), "value");
  });
}

TEST_P(BootstrapConformance, a_rank_that_leaves_after_a_barrier_does_not_break_it) {
  const auto job = make_job();
  for (int round = 0; round < 10; ++round)
    on_every_rank(*job, [](Bootstrap& bootstrap) { bootstrap.barrier(); });
}

TEST_P(BootstrapOfSeveralRanks, different_collectives_at_the_same_time_are_an_error_on_all_ranks) {
  const auto job = make_job();
  std::atomic<int> finished{0};
  on_every_rank(*job, [&](Bootstrap& bootstrap) {
    std::vector<std::byte> all(static_cast<std::size_t>(size()));
    const std::string error = error_of([&] {
      if (bootstrap.rank() == 0) {
        bootstrap.barrier();
      } else {
        bootstrap.allgather(bytes("x"), all);
      }
    });
    EXPECT_NE(error.find("called"), std::string::npos) << error;
    finished.fetch_add(1);
    while (finished.load() < size()) std::this_thread::yield();
  });
}

std::string statement(const char* value) {
  Statement statement("a host");
  statement.add("network (WEFT_NETWORK)", value);
  return statement.text();
}

TEST_P(BootstrapConformance, ranks_that_state_the_same_agree) {
  const auto job = make_job();
  on_every_rank(*job, [&](Bootstrap& bootstrap) {
    agree(bootstrap, statement("tcp"));
    bootstrap.barrier();
  });
}

TEST_P(BootstrapOfSeveralRanks, a_rank_that_states_something_else_is_refused_and_all_others_learn_why) {
  const auto job = make_job();
  const std::string expected =
      "rank 1 on a host has network (WEFT_NETWORK) shm; rank 0 on a host has network (WEFT_NETWORK) tcp: all "
      "ranks must "
      "have the same";
  const auto zero = job->join(0);
  agree(*zero, statement("tcp"));
  const auto one = job->join(1);
  EXPECT_EQ(error_of([&] { agree(*one, statement("shm")); }), expected);
  const auto two = job->join(2);
  agree(*two, statement("tcp"));
  for (const auto* each : {&zero, &two}) {
    EXPECT_NE(error_of([&] { (*each)->barrier(); }).find(expected), std::string::npos);
    EXPECT_NE(error_of([&] { (*each)->get(1, "address"); }).find(expected), std::string::npos);
    if (const auto* const failures = (*each)->failures(); failures != nullptr) {
      while (failures->load(std::memory_order_acquire) == 0) std::this_thread::yield();
      EXPECT_TRUE((*each)->has_failed(1));
    }
  }
}

TEST_P(BootstrapOfSeveralRanks, every_runtime_of_a_job_has_an_agreement_of_its_own) {
  const auto job = make_job();
  for (const char* const value : {"tcp", "shm"})
    on_every_rank(*job, [&](Bootstrap& bootstrap) {
      agree(bootstrap, statement(value));
      bootstrap.barrier();
    });
}

INSTANTIATE_TEST_SUITE_P(All, BootstrapConformance,
                         testing::Values(Kind{"single", 1}, Kind{"in_process", 1}, Kind{"in_process", 3},
                                         Kind{"in_process", 32}, Kind{"local", 1}, Kind{"local", 3},
                                         Kind{"local", 32}, Kind{"relayed", 3}, Kind{"relayed", 32}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(All, BootstrapOfSeveralRanks,
                         testing::Values(Kind{"in_process", 3}, Kind{"in_process", 32}, Kind{"local", 3},
                                         Kind{"local", 32}, Kind{"relayed", 3}, Kind{"relayed", 32}),
                         name_of);

}  // namespace
}  // namespace weft::bootstrap
