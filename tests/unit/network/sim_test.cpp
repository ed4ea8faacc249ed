// The simulated network by itself.
#include "unit/network/sim_job.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace weft::network::sim {
namespace {

using namespace test_job;

const Settings kPatient = {{"sim_refuse", "0"}, {"sim_delay", "0"}, {"sim_reorder", "0"}, {"sim_stale", "0"}};

Settings patient(const Settings& others) {
  Settings all = kPatient;
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

TEST(SimNetwork, delivers_every_message_once_whatever_the_seed) {
  for (int seed = 1; seed <= 50; ++seed) {
    const std::string text = std::to_string(seed);
    Job job(3, {{"sim_seed", text.c_str()}, {"sim_refuse", "30"}, {"sim_slow", "20"}, {"sim_slots", "3"}});
    std::vector<std::uint64_t> expected;
    for (std::uint64_t word = 0; word < 60; ++word) {
      job.send_patiently(0, word % 2 == 0 ? 1 : 2, word,
                         word % 5 == 0 ? TrafficClass::control : TrafficClass::data);
      if (word % 2 == 0) expected.push_back(word);
    }
    for (int round = 0; round < 10'000 && !job.port(0).drained(); ++round) job.poll_all();
    std::vector<std::uint64_t>& words = job.inbox(1).words;
    std::sort(words.begin(), words.end());
    EXPECT_EQ(words, expected) << "seed " << seed;
    EXPECT_EQ(job.inbox(2).words.size(), 30U);
    EXPECT_EQ(job.fabric->counts().in_flight, 0U);
    EXPECT_EQ(job.fabric->counts().delivered, 60U);
  }
}

std::uint64_t schedule_hash_of(const char* seed) {
  Job job(2, {{"sim_seed", seed}, {"sim_refuse", "20"}});
  for (std::uint64_t word = 0; word < 50; ++word) job.send_patiently(0, 1, word);
  job.poll_all(100);
  return job.fabric->schedule_hash();
}

TEST(SimNetwork, gives_equal_schedules_for_equal_seeds_and_others_for_others) {
  EXPECT_EQ(schedule_hash_of("1"), schedule_hash_of("1"));
  EXPECT_EQ(schedule_hash_of("77"), schedule_hash_of("77"));
  EXPECT_NE(schedule_hash_of("1"), schedule_hash_of("77"));
}

TEST(SimNetwork, lets_messages_overtake_each_other_only_when_asked_to) {
  for (const char* reorder : {"0", "100"}) {
    Job job(2, {{"sim_reorder", reorder}, {"sim_slots", "1000"}});
    for (std::uint64_t word = 0; word < 200; ++word) job.send_patiently(0, 1, word);
    job.poll_all(100);
    const std::vector<std::uint64_t>& words = job.inbox(1).words;
    EXPECT_EQ(words.size(), 200U);
    EXPECT_EQ(std::is_sorted(words.begin(), words.end()), std::string(reorder) == "0");
    EXPECT_EQ(job.fabric->counts().reordered == 0, std::string(reorder) == "0");
  }
}

TEST(SimNetwork, keeps_what_is_not_taken_and_what_is_behind_it_in_its_class_only) {
  Job job(3, kPatient);
  bool open = false;
  job.inbox(1).takes = [&](std::uint64_t word) { return open || word != 1; };
  job.send_patiently(0, 1, 1);
  job.send_patiently(0, 1, 2);
  job.send_patiently(0, 1, 3, TrafficClass::control);
  job.send_patiently(2, 1, 4);
  job.poll_all(3);
  EXPECT_EQ(job.inbox(1).words, (std::vector<std::uint64_t>{3, 4}));
  EXPECT_FALSE(job.port(0).drained());
  EXPECT_EQ(job.port(0).undelivered(), "2 messages to rank 1");
  open = true;
  job.poll(1);
  EXPECT_EQ(job.inbox(1).words, (std::vector<std::uint64_t>{3, 4, 1, 2}));
  EXPECT_TRUE(job.port(0).drained());
}

TEST(SimNetwork, has_slots_for_each_class) {
  Job job(2, patient({{"sim_slots", "2"}}));
  EXPECT_EQ(job.send(0, 1, 1), SendResult::sent);
  EXPECT_EQ(job.send(0, 1, 2), SendResult::sent);
  EXPECT_EQ(job.send(0, 1, 3), SendResult::no_slot);
  EXPECT_EQ(job.send(0, 1, 4, TrafficClass::control), SendResult::sent);
  job.poll(1);
  EXPECT_EQ(job.send(0, 1, 3), SendResult::sent);
}

TEST(SimNetwork, gives_packets_back_when_their_reader_is_done) {
  Job job(2, patient({{"packets", "16"}, {"held_packets", "1"}}));
  const Network::PacketMemory packets = job.network(0).packet_memory();
  std::uint32_t indices[16];
  job.inbox(1).keep = true;
  for (const std::uint32_t index : {3U, 5U}) {
    std::fill_n(packets.base + index * packets.stride, 100, std::byte{2});
    ASSERT_EQ(job.port(0).send_packet({1, 0, TrafficClass::data, kChannel, false, index}, index, 100),
              SendResult::sent);
  }
  EXPECT_EQ(job.network(0).reclaim_packets(indices), 0U);
  job.poll_all(2);
  EXPECT_EQ(job.inbox(1).sums, (std::vector<unsigned>{200, 200}));
  // One is held, the other was over the quota and copied.
  ASSERT_EQ(job.network(0).reclaim_packets(indices), 1U);
  EXPECT_EQ(indices[0], 5U);
  job.inbox(1).kept.clear();
  ASSERT_EQ(job.network(0).reclaim_packets(indices), 1U);
  EXPECT_EQ(indices[0], 3U);
}

TEST(SimNetwork, shows_handles_late) {
  Job job(2, patient({{"sim_stale", "50"}}));
  const auto send = [&] {
    const std::uint64_t word = std::uint64_t{7} << 48 | std::uint64_t{2} << 32;
    return job.port(0).send({1, 0, TrafficClass::data, kChannel, true, word}, {});
  };
  const auto changes_to = [&](SendResult before, SendResult after) {
    int old_answers = 0;
    SendResult result = before;
    for (int step = 0; step < 100 && result != after; ++step) {
      result = send();
      EXPECT_TRUE(result == before || result == after);
      old_answers += result == before ? 1 : 0;
      job.poll(1);
    }
    EXPECT_EQ(result, after);
    return old_answers;
  };
  EXPECT_EQ(send(), SendResult::not_ready);
  job.network(1).publish_handle(7, 2, HandleState::open);
  int late = changes_to(SendResult::not_ready, SendResult::sent);
  job.network(1).publish_handle(7, 2, HandleState::stopped);
  late += changes_to(SendResult::sent, SendResult::no_credit);
  job.network(1).publish_handle(7, 2, HandleState::withdrawn);
  late += changes_to(SendResult::no_credit, SendResult::sent);
  EXPECT_GT(late, 0);
}

TEST(SimNetwork, leaves_accesses_to_the_core_when_asked_to) {
  Job job(2, {{"sim_rma", "no"}});
  EXPECT_FALSE(job.port(0).capabilities().can_read);
  EXPECT_EQ(job.port(0).capabilities().immediate_bytes, 0U);
  EXPECT_EQ(job.port(0).put(1, {}, {}, nullptr, 1), AccessResult::unsupported);
  EXPECT_EQ(job.port(0).get(1, {}, {}, 1), AccessResult::unsupported);
}

TEST(SimNetwork, shows_a_death_after_its_time) {
  Job job(3, patient({{"sim_gone", "10"}}));
  job.send_patiently(0, 1, 1);
  job.send_patiently(1, 2, 2);
  job.fabric->kill(1);
  EXPECT_FALSE(job.port(0).has_left(1));
  EXPECT_EQ(job.send(0, 1, 3), SendResult::sent) << "nobody knows yet";
  EXPECT_EQ(job.send(1, 0, 4), SendResult::peer_left);
  job.poll_all(4);
  EXPECT_TRUE(job.port(0).has_left(1));
  EXPECT_FALSE(job.port(0).has_left(2));
  EXPECT_EQ(job.send(0, 1, 5), SendResult::peer_left);
  EXPECT_TRUE(job.inbox(1).words.empty());
  EXPECT_TRUE(job.inbox(2).words.empty());
  EXPECT_TRUE(job.port(0).drained());
  EXPECT_EQ(job.fabric->counts().lost, 3U);
}

TEST(SimNetwork, delivers_what_a_rank_has_sent_before_it_left) {
  Job job(2, kPatient);
  job.send_patiently(0, 1, 1);
  job.ports[0].reset();
  job.networks[0].reset();
  EXPECT_TRUE(job.port(1).has_left(0));
  EXPECT_EQ(job.send(1, 0, 2), SendResult::peer_left);
  job.poll(1);
  EXPECT_EQ(job.inbox(1).words, std::vector<std::uint64_t>{1});
  job.ports[0] = nullptr;
}

TEST(SimNetwork, keeps_waiting_threads_polling_while_something_is_under_way) {
  Job job(2, {{"sim_delay", "1000"}, {"sim_refuse", "0"}});
  EXPECT_TRUE(job.port(1).prepare_park());
  while (job.send(0, 1, 1) != SendResult::sent) continue;
  EXPECT_FALSE(job.port(1).prepare_park());
  while (job.inbox(1).words.empty()) job.poll(1);
  EXPECT_TRUE(job.port(1).prepare_park());
}

TEST(SimNetwork, wakes_parked_threads_when_something_is_sent) {
  Job job(2, kPatient);
  std::thread sender([&] {
    while (!job.port(1).has_parked()) std::this_thread::yield();
    while (job.send(0, 1, 1) != SendResult::sent) continue;
  });
  const std::uint32_t token = job.port(1).park_token();
  job.port(1).park(token, 1, std::chrono::minutes(10));
  sender.join();
  job.poll(1);
  EXPECT_EQ(job.inbox(1).words.size(), 1U);
}

TEST(SimNetwork, refuses_ranks_with_other_knobs_and_ranks_that_are_processes) {
  bootstrap::Hub hub(2);
  const auto zero = hub.join(0);
  const auto one = hub.join(1);
  test::NoCopier copier;
  const SimNetwork network(*zero, base::Attributes::load(Settings{}, nullptr), copier);
  const Settings other = {{"sim_seed", "2"}};
  EXPECT_THROW(SimNetwork(*one, base::Attributes::load(other, nullptr), copier), Error);

  class Process final : public bootstrap::Bootstrap {
   public:
    int rank() const override { return 0; }
    int size() const override { return 2; }
    std::string_view job_id() const override { return "0"; }
    const bootstrap::Secret& secret() const override { return secret_; }
    void put(std::string_view, std::span<const std::byte>) override {}
    std::optional<std::vector<std::byte>> try_get(int, std::string_view) override { return std::nullopt; }
    std::vector<std::byte> get(int, std::string_view) override { return {}; }
    void barrier() override {}
    void allgather(std::span<const std::byte>, std::span<std::byte>) override {}
    void abort(int, std::string_view) override {}

   private:
    const bootstrap::Secret secret_{};
  } process;
  EXPECT_THROW(SimNetwork(process, base::Attributes::load(Settings{}, nullptr), copier), Error);
}

}  // namespace
}  // namespace weft::network::sim
