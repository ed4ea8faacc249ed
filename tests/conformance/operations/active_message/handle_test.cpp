// Handles: not there yet, there, stale, forged, withdrawn.
#include <weft/testing/in_process_job.hpp>

#include "support/errors.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

namespace weft {
namespace {

using test::error_of;
using test::expect_names;
using test::payload;
using test::Ranks;

TEST(Handles, answer_not_ready_until_peer_device_and_object_exist) {
  InProcessJob job(2);
  Runtime zero(job, 0);
  Device device(zero);
  SerialEndpoint endpoint(device);
  const RemoteCompletion remote(3, 1, 2);
  const auto bytes = payload(20'000, 1);
  const auto expect_not_ready = [&](const char* when) {
    for (const std::size_t size :
         {std::size_t{8}, std::size_t{300}, std::size_t{3000}, std::size_t{20'000}}) {
      const Status status = endpoint.post_am(1, remote, Bytes(bytes).first(size));
      EXPECT_TRUE(status.is_retry()) << when;
      EXPECT_EQ(status.reason(), Reason::not_ready)
          << when << ", " << size << " bytes: " << name_of(status.reason());
    }
  };
  expect_not_ready("before the peer joins");
  Runtime one(job, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // contacts are tried once per millisecond
  expect_not_ready("before the peer opens the device");
  Device other(one, {.index = 1});
  expect_not_ready("with another device of the peer");
  Device theirs(one, {.index = 2});
  SerialEndpoint receiver(theirs);
  ASSERT_TRUE(
      test::until([&] { return endpoint.post_am(1, remote, {}).reason() == Reason::not_ready; }, [] {}));
  expect_not_ready("before the peer exposes the object");
  Counter arrived;
  EXPECT_EQ(one.expose(arrived, {.id = 3, .device = 2}), remote);
  ASSERT_TRUE(
      test::until([&] { return endpoint.post_am(1, remote, {}).is_done(); }, [&] { receiver.progress(); }));
  ASSERT_TRUE(test::until([&] { return arrived.value() == 1; }, [&] { receiver.progress(); }));
  EXPECT_EQ(one.counters().refused_handles, 0U);
}

TEST(Handles, are_the_same_on_all_ranks_whatever_the_order_of_exposures) {
  Ranks<Endpoint> ranks(2);
  Counter objects[4];
  const RemoteCompletion a = ranks.runtime(0).expose(objects[0], {.id = 9});
  const RemoteCompletion b = ranks.runtime(0).expose(objects[1], {.id = 4, .device = 63});
  EXPECT_EQ(ranks.runtime(1).expose(objects[2], {.id = 4, .device = 63}), b);
  EXPECT_EQ(ranks.runtime(1).expose(objects[3], {.id = 9}), a);
  EXPECT_EQ(a.id(), 9);
  EXPECT_EQ(b.device(), 63);
  EXPECT_EQ(a.generation(), 1);
}

class RefusedHandles : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(bytes, RefusedHandles, testing::Values(0, 8, 300, 3000, 20'000));

TEST_P(RefusedHandles, of_an_earlier_exposure_are_refused_and_counted) {
  for (const char* rendezvous : {"read", "copy"}) {
    Ranks<Endpoint> ranks(2, {{"rendezvous", rendezvous}, {"log", "error"}});
    const auto bytes = payload(GetParam(), 1);
    auto first = std::make_unique<Counter>();
    const RemoteCompletion stale = ranks.runtime(1).expose(*first, {.id = 1});
    Counter sent;
    ASSERT_TRUE(ranks.post(0, 1, stale, bytes, {.completion = &sent}).has_value());
    ASSERT_TRUE(ranks.progress_until([&] { return first->value() == 1 && sent.value() == 1; }));
    first.reset();
    for (const bool exposed_again : {false, true}) {
      Counter second;
      RemoteCompletion fresh;
      if (exposed_again) {
        fresh = ranks.runtime(1).expose(second, {.id = 1});
        EXPECT_EQ(fresh.generation(), 2);
      }
      const std::uint64_t before = ranks.runtime(1).counters().refused_handles;
      const std::uint64_t sent_before = sent.value();
      ASSERT_TRUE(ranks.post(0, 1, stale, bytes, {.completion = &sent}).has_value());
      ASSERT_TRUE(ranks.progress_until([&] {
        return ranks.runtime(1).counters().refused_handles == before + 1 && sent.value() == sent_before + 1;
      })) << "a refused message ends at its sender as well";
      EXPECT_EQ(second.value(), 0U) << "a stale handle reached the new object";
      if (!exposed_again) continue;
      ASSERT_TRUE(ranks.post(0, 1, fresh, bytes, {.completion = &sent}).has_value());
      ASSERT_TRUE(
          ranks.progress_until([&] { return second.value() == 1 && sent.value() == sent_before + 2; }));
      EXPECT_EQ(ranks.runtime(1).counters().refused_handles, before + 1);
    }
  }
}

TEST_P(RefusedHandles, that_are_forged_reach_nothing) {
  Ranks<Endpoint> ranks(2, {{"log", "error"}});
  Counter arrived;
  const RemoteCompletion real = ranks.runtime(1).expose(arrived, {.id = 1});
  const auto bytes = payload(GetParam(), 1);
  for (const RemoteCompletion forged :
       {RemoteCompletion(2, 1, 0), RemoteCompletion(1, 2, 0), RemoteCompletion(1, 65535, 0),
        RemoteCompletion(65535, 65535, 0), RemoteCompletion(1, 1, 5), RemoteCompletion(1, 1, 255)}) {
    const Status status = ranks.endpoint(0).post_am(1, forged, bytes);
    EXPECT_TRUE(status.is_retry());
    EXPECT_EQ(status.reason(), Reason::not_ready) << name_of(status.reason());
  }
  for (int more = 0; more < 100; ++more) ranks.progress();
  EXPECT_EQ(arrived.value(), 0U);
  Counter sent;
  ASSERT_TRUE(ranks.post(0, 1, real, bytes, {.completion = &sent}).has_value());
  ASSERT_TRUE(ranks.progress_until([&] { return arrived.value() == 1 && sent.value() == 1; }));
}

TEST(Handles, whose_late_messages_nobody_minds_are_dropped_without_a_count) {
  Ranks<Endpoint> ranks(2, {{"log", "error"}});
  auto object = std::make_unique<Counter>();
  const RemoteCompletion late = ranks.runtime(1).expose(*object, {.id = 1, .drops_late = true});
  const RemoteCompletion other = ranks.runtime(1).expose(*object, {.id = 2});
  object->withdraw();
  Counter sent;
  const auto large = payload(100'000, 1);
  ASSERT_TRUE(ranks.post(0, 1, late, {}).has_value());
  ASSERT_TRUE(ranks.post(0, 1, late, large, {.completion = &sent}).has_value());
  ASSERT_TRUE(ranks.progress_until([&] { return sent.value() == 1; }));
  ASSERT_TRUE(ranks.post(0, 1, other, {}).has_value());
  ASSERT_TRUE(ranks.progress_until([&] { return ranks.runtime(1).counters().refused_handles != 0; }));
  for (int more = 0; more < 100; ++more) ranks.progress();
  EXPECT_EQ(ranks.runtime(1).counters().refused_handles, 1U);
  // A later object under the same id counts again, unless it says so, too.
  const RemoteCompletion next = ranks.runtime(1).expose(*object, {.id = 1});
  object->withdraw();
  ASSERT_TRUE(ranks.post(0, 1, next, {}).has_value());
  ASSERT_TRUE(ranks.progress_until([&] { return ranks.runtime(1).counters().refused_handles == 2; }));
}

TEST(Handles, of_which_only_the_later_ones_drop_late_messages_count_those_of_the_earlier_ones) {
  Ranks<Endpoint> ranks(2, {{"log", "error"}});
  auto object = std::make_unique<Counter>();
  std::vector<RemoteCompletion> handles;
  // Of five objects under the id the first and the fourth count what comes late.
  for (const bool drops_late : {false, true, true, false, true}) {
    handles.push_back(ranks.runtime(1).expose(*object, {.id = 1, .drops_late = drops_late}));
    object->withdraw();
    if (handles.size() == 3) {
      for (const RemoteCompletion handle : handles) ASSERT_TRUE(ranks.post(0, 1, handle, {}).has_value());
      for (int more = 0; more < 100; ++more) ranks.progress();
      EXPECT_EQ(ranks.runtime(1).counters().refused_handles, 1U);
    }
  }
  ASSERT_TRUE(ranks.post(0, 1, handles[3], {}).has_value());
  ASSERT_TRUE(ranks.post(0, 1, handles[4], {}).has_value());
  ASSERT_TRUE(ranks.progress_until([&] { return ranks.runtime(1).counters().refused_handles == 2; }));
  for (int more = 0; more < 100; ++more) ranks.progress();
  EXPECT_EQ(ranks.runtime(1).counters().refused_handles, 2U);
}

TEST(Handles, several_may_name_one_object) {
  Ranks<Endpoint> ranks(2, {{"log", "error"}});
  auto object = std::make_unique<Counter>();
  const RemoteCompletion one = ranks.runtime(1).expose(*object, {.id = 1});
  const RemoteCompletion two = ranks.runtime(1).expose(*object, {.id = 2});
  ASSERT_TRUE(ranks.post(0, 1, one, {}).has_value());
  ASSERT_TRUE(ranks.post(0, 1, two, {}).has_value());
  ASSERT_TRUE(ranks.progress_until([&] { return object->value() == 2; }));
  object->withdraw();
  object->withdraw();
  ASSERT_TRUE(ranks.post(0, 1, one, {}).has_value());
  ASSERT_TRUE(ranks.post(0, 1, two, {}).has_value());
  ASSERT_TRUE(ranks.progress_until([&] { return ranks.runtime(1).counters().refused_handles == 2; }));
  EXPECT_EQ(object->value(), 2U);
}

/// Says whether somebody is inside signal().
class Slow final : public Completion {
 public:
  ~Slow() override { withdraw(); }
  void signal(Message&) noexcept override {
    inside.fetch_add(1);
    entered = true;
    for (int step = 0; step < 2000; ++step) std::this_thread::yield();
    inside.fetch_sub(1);
  }
  [[nodiscard]] bool ready() const noexcept override { return entered; }
  std::atomic<int> inside{0};
  std::atomic<bool> entered{false};
};

TEST(Withdrawal, returns_when_no_other_thread_is_inside_the_object) {
  for (const char* rendezvous : {"read", "copy"})
    for (const std::size_t size :
         {std::size_t{8}, std::size_t{300}, std::size_t{3000}, std::size_t{20'000}}) {
      Ranks<Endpoint> ranks(2, {{"rendezvous", rendezvous}, {"log", "error"}});
      Slow slow;
      const RemoteCompletion remote = ranks.runtime(1).expose(slow, {.id = 1});
      const auto bytes = payload(size, 1);
      Counter sent;
      ASSERT_TRUE(ranks.post(0, 1, remote, bytes, {.completion = &sent}).has_value());
      std::thread progress([&] {
        while (!slow.entered) ranks.progress();
      });
      ASSERT_TRUE(test::until([&] { return slow.entered.load(); }, [] {}));
      slow.withdraw();
      EXPECT_EQ(slow.inside, 0) << size << " bytes by " << rendezvous;
      progress.join();
      ASSERT_TRUE(ranks.progress_until([&] { return sent.value() == 1; }));
    }
}

TEST(Withdrawal, while_messages_arrive_refuses_the_rest) {
  for (const std::size_t size : {std::size_t{8}, std::size_t{3000}, std::size_t{20'000}}) {
    Ranks<Endpoint> ranks(2, {{"log", "error"}});
    std::atomic<bool> stop{false};
    std::vector<std::thread> progress;
    for (int thread = 0; thread < 2; ++thread)
      progress.emplace_back([&] {
        while (!stop) ranks.endpoint(1).progress();
      });
    const auto bytes = payload(size, 1);
    std::uint64_t accepted = 0;
    std::uint64_t delivered = 0;
    Counter sent;
    for (int exposure = 1; exposure <= 30; ++exposure) {
      auto target = std::make_unique<Counter>();
      const RemoteCompletion remote = ranks.runtime(1).expose(*target, {.id = 1});
      EXPECT_EQ(remote.generation(), exposure);
      for (int count = 0; count < 40; ++count) {
        if (ranks.endpoint(0).post_am(1, remote, bytes, {.completion = &sent}).is_accepted()) ++accepted;
        if (count == 25) {
          target->withdraw();
          delivered += target->value();
          target.reset();
        }
        if (count % 8 == 7) ranks.endpoint(0).progress();
      }
    }
    EXPECT_TRUE(test::until(
        [&] {
          return sent.value() == accepted &&
                 delivered + ranks.runtime(1).counters().refused_handles == accepted;
        },
        [&] { ranks.endpoint(0).progress(); }))
        << delivered << " delivered and " << ranks.runtime(1).counters().refused_handles << " refused of "
        << accepted;
    stop = true;
    for (std::thread& thread : progress) thread.join();
  }
}

TEST(Devices, are_opened_once_by_endpoints_of_many_threads) {
  for (int round = 0; round < 20; ++round) {
    InProcessJob job(1);
    Runtime runtime(job, 0);
    std::atomic<int> failed{0};
    std::atomic<int> waiting{4};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back([&] {
        --waiting;
        while (waiting > 0) std::this_thread::yield();
        try {
          Endpoint endpoint(runtime);
          endpoint.progress();
        } catch (const Error&) {
          ++failed;
        }
      });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(failed, 0) << "the default device is opened by the first endpoint that asks for it";
  }
}

TEST(Devices, that_close_and_open_again_go_on) {
  InProcessJob job(2);
  const AttributeSetting attributes[] = {{"drain_timeout", "0.05"}, {"log", "error"}};
  Runtime zero(job, 0, {.attributes = attributes});
  Runtime one(job, 1, {.attributes = attributes});
  Counter arrived;
  const RemoteCompletion remote = one.expose(arrived, {.id = 1});
  std::uint64_t expected = 0;
  for (int round = 0; round < 5; ++round) {
    Device receiving(one, {.index = 0});
    SerialEndpoint receiver(receiving);
    for (int sender = 0; sender < 3; ++sender) {
      Device sending(zero, {.index = sender % 2});
      SerialEndpoint endpoint(sending);
      for (int count = 0; count < 50; ++count)
        ASSERT_TRUE(test::until([&] { return endpoint.post_am(1, remote, {}).is_accepted(); },
                                [&] { receiver.progress(); }));
      expected += 50;
      ASSERT_TRUE(test::until([&] { return arrived.value() == expected; },
                              [&] {
                                endpoint.progress();
                                receiver.progress();
                              }))
          << arrived.value() << " of " << expected;
    }
  }
}

TEST(Handles, of_one_object_are_withdrawn_one_by_one) {
  Ranks<Endpoint> ranks(2);
  Runtime& owner = ranks.runtime(1);
  Counter counter;
  Counter other;
  const RemoteCompletion handles[] = {owner.expose(counter, {.id = 1}), owner.expose(counter, {.id = 2}),
                                      owner.expose(counter, {.id = 3})};
  const RemoteCompletion of_other = owner.expose(other, {.id = 4});
  std::uint64_t expected = 0;
  const auto expect_open = [&](RemoteCompletion handle) {
    ASSERT_TRUE(ranks.post(0, 1, handle, {}).has_value());
    ++expected;
    EXPECT_TRUE(ranks.progress_until([&] { return counter.value() == expected; }));
  };
  for (const RemoteCompletion handle : handles) expect_open(handle);
  EXPECT_FALSE(counter.withdraw(of_other)) << "the handle of another object";
  EXPECT_FALSE(counter.withdraw(RemoteCompletion()));
  EXPECT_FALSE(other.withdraw(handles[0]));
  EXPECT_TRUE(counter.withdraw(handles[1])) << "one in the middle";
  EXPECT_FALSE(counter.withdraw(handles[1])) << "withdrawn already";
  expect_open(handles[0]);
  expect_open(handles[2]);
  const std::string error = error_of([&] { owner.expose(counter, {.id = 1}); });
  expect_names(error, {"exposed already as id 1", "withdraw()"});
  expect_names(error_of([&] { owner.expose(counter, {.id = 4}); }), {"id 4", "in use by another completion"});
  const RemoteCompletion again = owner.expose(counter, {.id = 2});
  EXPECT_NE(again, handles[1]);
  EXPECT_FALSE(counter.withdraw(handles[1])) << "stale";
  expect_open(again);
  for (const RemoteCompletion handle : {handles[0], handles[2], again}) EXPECT_TRUE(counter.withdraw(handle));
  EXPECT_FALSE(counter.withdraw(again)) << "nothing is exposed any more";
  InProcessJob job(1);
  Runtime another(job, 0);
  EXPECT_EQ(another.expose(counter, {.id = 9}).id(), 9) << "withdrawn from all, it may go elsewhere";
  counter.withdraw();
}

}  // namespace
}  // namespace weft
